/**
 * An address `local@domain/resource` (RFC 7622). Servers normalise addresses before relaying; no case folding happens
 * here.
 */
export type Jid = { readonly local: string; readonly domain: string; readonly resource: string }

export const parseJid = (text: string): Jid => {
  const slash = text.indexOf('/')
  const bare = slash < 0 ? text : text.slice(0, slash)
  const at = bare.indexOf('@')
  return {
    local: at < 0 ? '' : bare.slice(0, at),
    domain: bare.slice(at + 1),
    resource: slash < 0 ? '' : text.slice(slash + 1),
  }
}

export const bareOf = (text: string): string => {
  const slash = text.indexOf('/')
  return slash < 0 ? text : text.slice(0, slash)
}

export const resourceOf = (text: string): string => parseJid(text).resource

import { readFileSync } from 'node:fs'
import { isLoopbackHost } from './address-list.ts'
import { mailAddress } from './mail-address.ts'
import { SettingError } from './setting.ts'

/** The mail server of the installation. */
export type SmtpServer = {
  readonly host: string
  readonly port: number
  /** `direct`: from the first byte. `upgrade`: by STARTTLS, which the server must offer. `none`: plain text. */
  readonly tls: 'direct' | 'upgrade' | 'none'
  readonly login: { readonly user: string; readonly password: string } | null
  /** PEM of the certificates to trust instead of those of the system. */
  readonly ca: string | null
  /** Name of this machine in EHLO. Default: the domain of the sender. */
  readonly name: string | null
}

const form =
  'wants smtps://user:password@mail.example.com:465 or smtp://mail.example.com:587, the password percent-encoded'

const options = ['requireTLS', 'ca', 'name']

const pem = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new SettingError(`names a file of certificates that cannot be read: ca=${path}`)
  }
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new SettingError(form)
  }
}

/** Parses the address of a mail server. Passwords travel in plain text to this machine only. */
export const smtpServer = (value: string): SmtpServer => {
  const url = URL.canParse(value) ? new URL(value) : null
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || !/^\/?$/.test(url.pathname) || url.hash !== '')
    throw new SettingError(form)
  if ((url.username === '') !== (url.password === '')) throw new SettingError(`needs a user and a password: ${form}`)
  for (const name of url.searchParams.keys())
    if (!options.includes(name))
      throw new SettingError(`has the unknown option ${name}; there are ${options.join(', ')}`)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal = isLoopbackHost(host)
  const require = url.searchParams.get('requireTLS')
  if (require !== null && !/^(?:true|false)$/.test(require))
    throw new SettingError('wants requireTLS=true or requireTLS=false')
  const isDirect = url.protocol === 'smtps:'
  const isPlain = !isDirect && (require ?? String(!isLocal)) === 'false'
  const hasLogin = url.username !== ''
  if (isPlain && hasLogin && !isLocal)
    throw new SettingError(
      'would send the password in plain text to another machine: remove requireTLS=false, or the user',
    )
  const [ca, name] = [url.searchParams.get('ca'), url.searchParams.get('name')]
  if (name !== null && !/^[\w.-]{1,253}$/.test(name)) throw new SettingError('wants the name of this machine in name=…')
  return {
    host,
    port: Number(url.port) || (isDirect ? 465 : 587),
    tls: isDirect ? 'direct' : isPlain ? 'none' : 'upgrade',
    login: hasLogin ? { user: decoded(url.username), password: decoded(url.password) } : null,
    ca: ca === null ? null : pem(ca),
    name,
  }
}

/** Parses the sender of mails: `no-reply@example.com`, or with a name `Example <no-reply@example.com>`. */
export const mailSender = (value: string): { readonly name: string; readonly address: string } => {
  const [, name = '', addressText = value] = /^"?([^"<>]*?)"?\s*<([^<>]+)>$/.exec(value) ?? []
  const address = mailAddress(addressText)
  if (address === null || /\p{Cc}/u.test(name))
    throw new SettingError('wants an address such as no-reply@example.com, or Example <no-reply@example.com>')
  return { name, address }
}

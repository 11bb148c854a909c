import { codeHtml, escapeHtml, pageHtml } from './html.ts'
import { renderBlock, renderInline } from './markdown.ts'
import { type Samples, sampleLanguages } from './samples.ts'
import {
  asJson,
  asList,
  asText,
  bodyHtml,
  fieldHtml,
  isJson,
  type Json,
  makeResolver,
  type Resolve,
} from './schema-html.ts'

type Operation = { readonly method: string; readonly path: string; readonly tag: string; readonly node: Json }

const methods = ['get', 'post', 'put', 'patch', 'delete', 'options', 'head', 'trace']

/** Order of the tags: the customers' interface, the operator's, then the rest. */
const groups = [/^(?!Operator|Sandbox|Health)/, /^Operator/, /^Sandbox/, /^Health/]
const rank = (tag: string): number => groups.findIndex((group) => group.test(tag))

/** Returns the anchor of a tag or an operation, as Swagger UI spells it: spaces become `%20`. */
export const anchorOf = (...names: string[]): string =>
  names.map((name) => `/${name.trim().replace(/\s/g, '%20')}`).join('')

const operationsOf = (paths: Json): Operation[] =>
  Object.entries(paths)
    .flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const node = asJson(item)[method]
        return isJson(node) ? [{ method, path, node, tag: asText(asList(node.tags)[0]) || 'Other' }] : []
      }),
    )
    .sort((a, b) => a.path.localeCompare(b.path, 'en') || methods.indexOf(a.method) - methods.indexOf(b.method))

const exampleHtml = (value: unknown): string =>
  value === undefined ? '' : codeHtml(typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/** Returns the examples of a body with their names; a single one has no name. */
const examplesOf = (media: Json, resolve: Resolve): [string, unknown][] => {
  const named = Object.entries(asJson(media.examples)).map(([name, node]): [string, unknown] => {
    const { summary, value } = resolve(node)
    return [asText(summary) || name, value]
  })
  return named.length > 0 ? named : 'example' in media ? [['', media.example]] : []
}

/** Returns the examples of a request or a response under a title, such as `Answer`. */
const examplesHtml = (title: string, content: unknown, resolve: Resolve): string =>
  Object.values(asJson(content))
    .flatMap((node) => examplesOf(asJson(node), resolve))
    .map(
      ([name, value]) =>
        `<p class="label">${escapeHtml(title)}${name === '' ? '' : `: ${escapeHtml(name)}`}</p>${exampleHtml(value)}`,
    )
    .join('')

/** Returns the samples of a request, one in each language: radio buttons choose, also without a script. */
const samplesHtml = (id: string, samples: Samples): string => {
  const choices = sampleLanguages.map(
    (language, n) =>
      `<label><input type="radio" name="${escapeHtml(id)}" value="${language}"${n === 0 ? ' checked' : ''}>${language}</label>`,
  )
  const blocks = sampleLanguages.map(
    (language) => `<div class="sample" data-language="${language}">${codeHtml(samples[language])}</div>`,
  )
  return `<fieldset class="samples"><legend>Request</legend>${choices.join('')}${blocks.join('')}</fieldset>`
}

const contentHtml = (content: unknown, resolve: Resolve): string =>
  Object.entries(asJson(content))
    .map(([type, node]) => {
      const media = asJson(node)
      const label = type === 'application/json' ? '' : `<p class="label"><code>${escapeHtml(type)}</code></p>`
      return label + bodyHtml(resolve, asJson(media.schema))
    })
    .join('')

/** Returns the values of `error_code` that a response documents, in its examples and its schema. */
const errorCodesOf = (content: Json, resolve: Resolve): string[] => {
  const codes = new Set<string>()
  const add = (value: unknown) => {
    if (typeof value === 'string') codes.add(value)
  }
  const search = (schema: Json, depth = 0): void => {
    const field = resolve(asJson(schema.properties).error_code)
    add(field.const)
    for (const value of asList(field.enum)) add(value)
    for (const choice of asList(field.anyOf)) add(asJson(choice).const)
    if (depth < 4)
      for (const part of [...asList(schema.allOf), ...asList(schema.anyOf), ...asList(schema.oneOf)])
        search(resolve(part), depth + 1)
  }
  for (const node of Object.values(content).map(asJson)) {
    search(resolve(node.schema))
    for (const [, value] of examplesOf(node, resolve)) add(asJson(value).error_code)
  }
  return [...codes]
}

const successHtml = (status: string, response: Json, resolve: Resolve): string => {
  const headers = Object.entries(asJson(response.headers)).map(([name, node]) => {
    const header = resolve(node)
    return fieldHtml(resolve, name, asJson(header.schema), ['header'], asText(header.description))
  })
  return (
    `<h4><span class="status">${escapeHtml(status)}</span> ${renderInline(asText(response.description))}</h4>` +
    (headers.length > 0 ? `<ul class="fields">${headers.join('')}</ul>` : '') +
    contentHtml(response.content, resolve)
  )
}

/** Refusals share one body, so each is one line; its own fields, if any, are in its schema. */
const refusalHtml = (status: string, response: Json, resolve: Resolve): string => {
  const content = asJson(response.content)
  const codes = errorCodesOf(content, resolve).map((code) => `<code>${escapeHtml(code)}</code>`)
  const own = Object.values(content).flatMap((node) =>
    asList(asJson(asJson(node).schema).allOf).map((part) => {
      const { error_code: _listed, ...fields } = asJson(asJson(part).properties)
      return Object.keys(fields).length === 0 ? '' : bodyHtml(resolve, { ...asJson(part), properties: fields })
    }),
  )
  return (
    `<li><span class="status bad">${escapeHtml(status)}</span> ${codes.join(' ')} ` +
    `${renderInline(asText(response.description))}${own.join('')}</li>`
  )
}

const responsesHtml = (responses: Json, resolve: Resolve): string => {
  const all = Object.entries(responses).map(([status, node]) => ({ status, response: resolve(node) }))
  const good = all.filter(({ status }) => !/^[45]|^default$/.test(status))
  const bad = all.filter(({ status }) => /^[45]|^default$/.test(status))
  const refusals = bad.map(({ status, response }) => refusalHtml(status, response, resolve))
  return (
    good.map(({ status, response }) => successHtml(status, response, resolve)).join('\n') +
    (refusals.length > 0 ? `\n<h4>Errors</h4>\n<ul class="refusals">\n${refusals.join('\n')}\n</ul>` : '')
  )
}

const authHtml = (node: Json, schemes: Json): string => {
  const names = asList(node.security).flatMap((one) => Object.keys(asJson(one)))
  const keys = names.map((name) => {
    const scheme = asJson(schemes[name])
    return `<code>${escapeHtml(asText(scheme.name) || 'Authorization: Bearer')}</code>`
  })
  const scope = asText(node['x-needs'])
  const role = asText(node['x-role'])
  const parts = [
    keys.length > 0 ? `Authentication: ${keys.join(' or ')}` : 'No authentication',
    ...(scope === '' ? [] : [`Scope: <code>${escapeHtml(scope)}</code>`]),
    ...(role === '' ? [] : [`Role: <code>${escapeHtml(role)}</code>`]),
  ]
  return parts.join(' · ')
}

const parametersHtml = (parameters: readonly unknown[], resolve: Resolve): string => {
  if (parameters.length === 0) return ''
  const fields = parameters.map((one) => {
    const { name, in: where, required, schema, description } = resolve(one)
    const notes = [asText(where), ...(required === true ? ['required'] : [])]
    return fieldHtml(resolve, asText(name), asJson(schema), notes, asText(description))
  })
  return `<h4>Parameters</h4>\n<ul class="fields">\n${fields.join('\n')}\n</ul>`
}

const requestHtml = (request: unknown, resolve: Resolve): string => {
  if (!isJson(request)) return ''
  const body = resolve(request)
  const about = asText(body.description)
  const optional = body.required === true ? '' : ' <span class="type">optional</span>'
  return `<h4>Body${optional}</h4>${about === '' ? '' : renderBlock(about)}${contentHtml(body.content, resolve)}`
}

/** Returns the examples of the successful responses; statuses with equal ones share them. */
const answersHtml = (responses: Json, resolve: Resolve): string => {
  const good = Object.entries(responses).filter(([status]) => !/^[45]|^default$/.test(status))
  const byContent = Map.groupBy(good, ([, node]) => JSON.stringify(resolve(node).content))
  return [...byContent.values()]
    .map((same) => {
      const statuses = same.map(([status]) => status).join(' or ')
      return examplesHtml(`Answer ${statuses}`, resolve(same[0]?.[1]).content, resolve)
    })
    .join('')
}

/** Text and code: next to each other where there is room. */
const columnsHtml = (text: readonly string[], code: string): string => {
  const about = text.filter((part) => part !== '').join('\n')
  return code === '' ? about : `<div class="about">\n${about}\n</div>\n<div class="examples">\n${code}\n</div>`
}

/** The scope has a line of its own. */
const descriptionOf = (node: Json): string =>
  asText(node.description)
    .replace(/\s*Needs an API key with the scope `[^`]+`\.\s*/, ' ')
    .trim()

/** The anchor is inside the element that opens: a browser opens it for the fragment, also without a script. */
const blockHtml = (anchor: string, heading: string, summary: string, body: string): string =>
  `<details class="entry"><summary><h3>${heading}</h3>${summary}</summary>\n` +
  `<div class="body" id="${escapeHtml(anchor)}">\n${body}\n</div></details>`

type Reference = { readonly schemes: Json; readonly resolve: Resolve; readonly samples: ReadonlyMap<string, Samples> }

const operationHtml = ({ method, path, tag, node }: Operation, item: Json, reference: Reference): string => {
  const { schemes, resolve } = reference
  const id = asText(node.operationId)
  const samples = reference.samples.get(id)
  const request = asJson(resolve(node.requestBody).content)
  const anchor = anchorOf(tag, id || `${method}-${path}`)
  const description = descriptionOf(node)
  const heading = `<span class="method ${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code>`
  const mark = node.deprecated === true ? ' <em>Deprecated.</em>' : ''
  return blockHtml(
    anchor,
    heading,
    `<span class="what">${renderInline(asText(node.summary))}${mark}</span>`,
    columnsHtml(
      [
        `<p class="meta">${authHtml(node, schemes)} · <a href="/docs/try#${escapeHtml(anchor)}">Try it</a> · ` +
          `<a href="#${escapeHtml(anchor)}">Link</a> · <code>${escapeHtml(asText(node.operationId))}</code></p>`,
        description === '' ? '' : renderBlock(description),
        parametersHtml([...asList(item.parameters), ...asList(node.parameters)], resolve),
        requestHtml(node.requestBody, resolve),
        responsesHtml(asJson(node.responses), resolve),
      ],
      (samples ? samplesHtml(id, samples) : examplesHtml('Request', request, resolve)) +
        answersHtml(asJson(node.responses), resolve),
    ),
  )
}

const webhookHtml = (name: string, item: Json, resolve: Resolve): string => {
  const node = methods.map((method) => item[method]).find(isJson) ?? {}
  const description = asText(node.description)
  return blockHtml(
    anchorOf('webhooks', name),
    `<span class="method event">EVENT</span> <code>${escapeHtml(name)}</code>`,
    `<span class="what">${renderInline(asText(node.summary))}</span>`,
    columnsHtml(
      [
        description === '' ? '' : renderBlock(description),
        requestHtml(node.requestBody, resolve),
        responsesHtml(asJson(node.responses), resolve),
      ],
      examplesHtml('Call', resolve(node.requestBody).content, resolve) + answersHtml(asJson(node.responses), resolve),
    ),
  )
}

const schemaHtml = (name: string, schema: Json, resolve: Resolve): string =>
  blockHtml(
    anchorOf('schemas', name),
    `<code>${escapeHtml(name)}</code>`,
    `<span class="what">${renderInline(asText(schema.title))}</span>`,
    (asText(schema.description) === '' ? '' : renderBlock(asText(schema.description))) + bodyHtml(resolve, schema),
  )

type Section = { readonly anchor: string; readonly name: string; readonly about: string; readonly blocks: string[] }

const sectionHtml = ({ anchor, name, about, blocks }: Section): string =>
  `<section class="group" aria-labelledby="${escapeHtml(anchor)}">\n` +
  `<h2 id="${escapeHtml(anchor)}" tabindex="-1">${escapeHtml(name)}</h2>\n` +
  `${about === '' ? '' : renderBlock(about)}\n${blocks.join('\n')}\n</section>`

const securityHtml = (schemes: Json): string => {
  const items = Object.values(schemes).map((node) => {
    const scheme = asJson(node)
    const about = asText(scheme.description)
    const how = scheme.type === 'http' ? 'Authorization: Bearer …' : `${asText(scheme.name)}: …`
    return `<li><code>${escapeHtml(how)}</code>${about === '' ? '' : ` ${renderInline(about)}`}</li>`
  })
  return items.length === 0 ? '' : `<p class="label">Authentication</p>\n<ul class="keys">${items.join('')}</ul>`
}

/** The first request and where to go from there. */
const start = `## Start

Send an SMS from a number of your account. The first start prints an API key, and the console makes others. All samples of this page read
the address and the key from the environment:

\`\`\`sh
export TRUNKLINE_URL=http://127.0.0.1:8080
export TRUNKLINE_API_KEY=UAK…
curl "$TRUNKLINE_URL/open/sms/send" -H "X-User-API-Key: $TRUNKLINE_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"from_number": "+447400123456", "to_number": "+447700900123", "text": "Hello"}'
\`\`\`

Samples of operators read \`TRUNKLINE_OPERATOR_KEY\`. Those in TypeScript use the [typed client](/docs/packages/client); those in Python and PHP need no
package.

[SMS](/docs/sms) · [Numbers](/docs/numbers) · [Calls](/docs/voice) · [The messaging app](/docs/messaging) ·
[Webhooks](/docs/webhooks) · [Testing](/docs/testing) · [Keys](/docs/keys) · [Errors](/docs/errors) ·
[Pagination](/docs/lists) · [Idempotency](/docs/idempotency) · [Rate limits](/docs/rate-limits)
`

/**
 * Returns the reference page of an OpenAPI document.
 * @param samples of operations, by `operationId`
 */
export const referenceHtml = (document: Json, samples: ReadonlyMap<string, Samples> = new Map()): string => {
  const resolve = makeResolver(document)
  const info = asJson(document.info)
  const { securitySchemes, schemas } = asJson(document.components)
  const schemes = asJson(securitySchemes)
  const reference = { schemes, resolve, samples }
  const paths = asJson(document.paths)
  const about = new Map(asList(document.tags).map((tag) => [asText(asJson(tag).name), asText(asJson(tag).description)]))
  const byTag = Map.groupBy(operationsOf(paths), ({ tag }) => tag)
  const tags = [...byTag.keys()].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en'))
  const sections: Section[] = tags.map((tag) => ({
    anchor: anchorOf(tag),
    name: tag,
    about: about.get(tag) ?? '',
    blocks: (byTag.get(tag) ?? []).map((one) => operationHtml(one, asJson(paths[one.path]), reference)),
  }))
  const events = Object.entries(asJson(document.webhooks))
  if (events.length > 0)
    sections.push({
      anchor: '/webhooks',
      name: 'Events',
      about: 'Each event is a `POST` to the address of a webhook.',
      blocks: events.map(([name, item]) => webhookHtml(name, resolve(item), resolve)),
    })
  const components = Object.entries(asJson(schemas)).sort(([a], [b]) => a.localeCompare(b, 'en'))
  if (components.length > 0)
    sections.push({
      anchor: '/schemas',
      name: 'Schemas',
      about: '',
      blocks: components.map(([name, schema]) => schemaHtml(name, asJson(schema), resolve)),
    })
  const title = `${asText(info.title)} API`
  return pageHtml({
    title,
    current: '/docs',
    head: '<script src="/pages/docs.js" defer></script>\n',
    sidebar: `<p><a href="#start">Start</a></p>\n<p>Reference</p>\n<ul>\n${sections
      .map(({ anchor, name }) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(name)}</a></li>`)
      .join('\n')}\n</ul>`,
    content: [
      `<h1>${escapeHtml(title)} <span class="quiet">${escapeHtml(asText(info.version))}</span></h1>`,
      `<article>${renderBlock(start)}</article>`,
      renderBlock(asText(info.description)),
      securityHtml(schemes),
      '<form id="filter" role="search" hidden><label>Filter <input type="search" autocomplete="off" spellcheck="false"></label>',
      '<button type="button" id="open-all">Open all</button><p id="matches" role="status"></p></form>',
      ...sections.map(sectionHtml),
    ].join('\n'),
  })
}

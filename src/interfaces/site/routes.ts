import { hash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { compatContracts, contracts } from '../../contracts.ts'
import { eventDocuments } from '../../event-payloads.ts'
import { compatOpenapi, openapi } from '../../platform/http/openapi.ts'
import type { Services } from '../../services.ts'
import { tagDescriptions } from '../../tags.ts'
import { makeCachedPages } from './cached-pages.ts'
import { installConsole } from './console.ts'
import { refusals } from './refusals.ts'
import type { Json } from './schema-html.ts'

const pages = join(import.meta.dirname, 'pages')
const repository = join(import.meta.dirname, '../../..')
/** Built by scripts/ready.mjs. */
const sdk = join(repository, 'packages/voice-sdk/dist')
/** A telephone in a page, which integrators copy. */
const example = join(repository, 'packages/voice-sdk/example')

/** No inline script or style, and no external source. */
const policy =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

/** Swagger UI sets styles in elements. */
const tryPolicy = policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")

/** The example connects to the public name of its token, which may differ from the page's. */
const examplePolicy = (publicUrl: string) => {
  const { host, origin } = new URL(publicUrl)
  return (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; " +
    `connect-src 'self' ${origin} ws://${host} wss://${host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  )
}

const asPage = (reply: FastifyReply, allowed = policy): FastifyReply =>
  reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', allowed)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')

const page = (reply: FastifyReply, html: string, allowed = policy) => asPage(reply, allowed).send(html)

/** Returns the contracts that this installation serves. */
const servedContracts = (sandbox: boolean) => contracts.filter(({ url }) => sandbox || !url.startsWith('/sandbox'))

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** @throws the 401 Problem when a token is required and is wrong or missing */
const admitMetrics = (authorization: string | undefined, token: string | null): void => {
  if (token === null) return
  const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? ''
  // Compares digests: timingSafeEqual requires equal lengths.
  if (!timingSafeEqual(digest(bearer), digest(token))) throw refusals.badMetricsToken()
}

/** The package of the search, as browsers load it. */
const searchPackage = () => {
  const commonJs = createRequire(import.meta.url).resolve('minisearch')
  const module = readFileSync(join(dirname(commonJs), '../es/index.js'), 'utf8')
  return module.replace(/^\/\/# sourceMappingURL=.*$/m, '')
}

/** Serves the documents as pages, as Markdown at the same addresses with `.md`, and the entries of their search. */
const installDocuments = (
  app: FastifyInstance,
  send: ReturnType<typeof makeCachedPages>,
  reference: () => Json,
): void => {
  // The pages and their Markdown parser are loaded with the first request: no start needs them.
  let loading: Promise<ReturnType<typeof import('./documents.ts').makeDocuments>> | null = null
  const load = () => {
    loading ??= import('./documents.ts').then(({ makeDocuments }) => makeDocuments(repository))
    return loading
  }
  const { description } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    const { find, html, markdown } = await load()
    const url = `/docs/${request.params['*'].replace(/\/$/, '')}`
    const isMarkdown = url.endsWith('.md')
    const found = find(isMarkdown ? url.slice(0, -3) : url)
    if (!found) return reply.callNotFound()
    return isMarkdown
      ? send(request, reply.type('text/markdown; charset=utf-8'), url, () => markdown(found))
      : send(request, asPage(reply), url, () => html(found))
  })
  app.get('/docs/search.json', (request, reply) =>
    send(request, reply.type('application/json; charset=utf-8'), 'search', async () => {
      const [{ entries }, { operationEntries }] = await Promise.all([load(), import('./search-entries.ts')])
      return JSON.stringify([...entries(), ...operationEntries(reference())])
    }),
  )
  app.get('/docs/assets/minisearch.js', (request, reply) =>
    send(request, reply.type('text/javascript; charset=utf-8'), 'minisearch', searchPackage),
  )
  app.get('/llms.txt', (request, reply) =>
    send(request, reply.type('text/plain; charset=utf-8'), 'index', async () => (await load()).index(description)),
  )
}

/** Installs the pages for people and monitoring: documentation, console, metrics. */
export const installSite = async (
  app: FastifyInstance,
  { config, metrics, version, publicUrl }: Services,
): Promise<void> => {
  const renderer = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const attempt = readFileSync(join(pages, 'try.html'), 'utf8')
  await app.register(fastifyStatic, { root: pages, prefix: '/pages/', index: false, maxAge: 3_600_000 })
  await app.register(fastifyStatic, {
    root: renderer,
    prefix: '/docs/assets/',
    decorateReply: false,
    index: false,
    maxAge: 86_400_000,
    allowedPath: (path) => /^\/swagger-ui(?:-bundle\.js|\.css)$/.test(path),
  })
  await app.register(fastifyStatic, {
    root: join(repository, 'docs/images'),
    prefix: '/docs/images/',
    decorateReply: false,
    index: false,
    maxAge: 3_600_000,
  })
  await app.register(fastifyStatic, {
    root: sdk,
    prefix: '/sdk/',
    decorateReply: false,
    index: false,
    maxAge: 300_000,
    preCompressed: true,
    allowedPath: (path) => /^\/(?:voice\.m?js(?:\.gz)?|licenses\.txt)$/.test(path),
    // A customer's own page loads it too: the file is public.
    setHeaders: (reply) => void reply.header('access-control-allow-origin', '*'),
  })
  const document = () => openapi(servedContracts(config.sandbox), version, eventDocuments, tagDescriptions)
  const send = makeCachedPages()
  app.get('/openapi.json', (request, reply) =>
    send(request, reply.type('application/json; charset=utf-8'), 'openapi', () => JSON.stringify(document())),
  )
  if (config.compat === 'on')
    app.get('/openapi-compat.json', (request, reply) =>
      send(request, reply.type('application/json; charset=utf-8'), 'openapi-compat', () =>
        JSON.stringify(compatOpenapi(compatContracts, version, tagDescriptions)),
      ),
    )
  app.get('/docs', (request, reply) =>
    send(request, asPage(reply), 'reference', async () => {
      const [{ referenceHtml }, { samplesOf }] = await Promise.all([import('./reference.ts'), import('./samples.ts')])
      const samples = servedContracts(config.sandbox).map((one) => [one.id, samplesOf(one)] as const)
      return referenceHtml(document(), new Map(samples))
    }),
  )
  app.get('/docs/try', (_request, reply) => page(reply, attempt, tryPolicy))
  installDocuments(app, send, document)
  if (config.sandbox)
    await app.register(fastifyStatic, {
      root: example,
      prefix: '/sdk/example/',
      decorateReply: false,
      index: false,
      setHeaders: (reply) => {
        reply.header('content-security-policy', examplePolicy(publicUrl()))
        reply.header('x-content-type-options', 'nosniff')
        reply.header('referrer-policy', 'no-referrer')
      },
    })
  if (config.roles.includes('console')) await installConsole(app, publicUrl)
  app.get('/', (_request, reply) => reply.redirect('/console'))
  app.get('/metrics', async (request, reply) => {
    admitMetrics(request.headers.authorization, config.metricsToken)
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
  })
}

import { hash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { contracts } from '../contracts.ts'
import { openapi } from '../http/openapi.ts'
import { Problem } from '../http/problem.ts'
import type { Parts } from '../parts.ts'

const pages = join(import.meta.dirname, 'pages')
/** Built by scripts/ready.mjs. */
const sdk = join(import.meta.dirname, '../../packages/voice-sdk/dist')

/** No inline script, nothing from elsewhere. The renderer of the documentation sets styles in elements. */
const policy =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

/** As strict, and: the bell is made in the page; gateway and recordings have the public name, which need not be the page's. */
const phonePolicy = (publicUrl: string) => {
  const { host, origin } = new URL(publicUrl)
  return (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
    `media-src 'self' blob: ${origin}; connect-src 'self' ws://${host} wss://${host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  )
}

const page = (reply: FastifyReply, html: string, allowed = policy) =>
  reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', allowed)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .send(html)

/** The contracts that this installation serves. */
const servedContracts = (sandbox: boolean) => contracts.filter(({ url }) => sandbox || !url.startsWith('/sandbox'))

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** @throws the 401 Problem when a token is wanted and another one, or none, was sent */
const admitMetrics = (authorization: string | undefined, token: string | null): void => {
  if (token === null) return
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? ''
  // Digests have one length, which the comparison wants.
  if (!timingSafeEqual(digest(given), digest(token)))
    throw new Problem('unauthorized', 'Send TRUNKLINE_METRICS_TOKEN as Authorization: Bearer', 'unauthorized', {
      'www-authenticate': 'Bearer',
    })
}

/** What is looked at rather than called: documentation, console, metrics. */
export const installSite = async (
  app: FastifyInstance,
  { config, metrics, version, publicUrl }: Parts,
): Promise<void> => {
  const renderer = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const [docs, home, phone = ''] = ['docs.html', 'console.html', 'phone.html'].map((name) =>
    readFileSync(join(pages, name), 'utf8'),
  )
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
    root: sdk,
    prefix: '/sdk/',
    decorateReply: false,
    index: false,
    maxAge: 300_000,
    preCompressed: true,
    allowedPath: (path) => /^\/(?:voice\.m?js(?:\.gz)?|licenses\.txt)$/.test(path),
    // A customer's own page loads it too: it is the same for everybody.
    setHeaders: (reply) => void reply.header('access-control-allow-origin', '*'),
  })
  let document: string | null = null
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openapi(servedContracts(config.sandbox), version))
    return reply.type('application/json; charset=utf-8').send(document)
  })
  app.get('/docs', (_request, reply) => page(reply, docs ?? ''))
  if (config.roles.includes('console')) {
    const softphone = phone.replace('data-sandbox="false"', `data-sandbox="${config.sandbox}"`)
    app.get('/console', (_request, reply) => page(reply, home ?? ''))
    app.get('/console/phone', (_request, reply) => page(reply, softphone, phonePolicy(publicUrl())))
  }
  app.get('/', (_request, reply) => reply.redirect('/console'))
  app.get('/metrics', async (request, reply) => {
    admitMetrics(request.headers.authorization, config.metricsToken)
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
  })
}

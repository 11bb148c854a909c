import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeCachedPages } from './cached-pages.ts'
import { refusals } from './refusals.ts'

/** Built by scripts/ready.mjs. */
const dist = join(import.meta.dirname, '../../../console/dist')
const manifestFile = join(dist, 'manifest.json')

/** Manifest of console/build.mjs. */
type Manifest = {
  readonly build: string
  readonly isDev: boolean
  /** Modules that every page loads, the entry first. */
  readonly entry: readonly string[]
  readonly style: string
  /** Patterns of addresses with the modules of their page. */
  readonly routes: readonly (readonly [pattern: string, files: readonly string[]])[]
  readonly page: string
}

/** Reads the manifest, and again after another build. Null before the first one. */
const makeManifestReader = (): (() => Manifest | null) => {
  let manifest: Manifest | null = null
  let readAt = 0
  const read = () => {
    const { mtimeMs } = statSync(manifestFile)
    if (mtimeMs !== readAt) manifest = JSON.parse(readFileSync(manifestFile, 'utf8'))
    readAt = mtimeMs
    return manifest
  }
  // A production build changes with an installation only, so it is read once.
  return () => (manifest && !manifest.isDev ? manifest : existsSync(manifestFile) ? read() : null)
}

/**
 * No inline script or style, no other host, and no HTML from text (Trusted Types). The one policy for trusted types
 * passes the address of the service worker.
 */
const policyOf = (publicUrl: string): string => {
  const { host, protocol } = new URL(publicUrl)
  const live = `${protocol === 'https:' ? 'wss' : 'ws'}://${host}`
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "media-src 'self' blob:",
    "font-src 'none'",
    `connect-src 'self' ${live}`,
    "worker-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types trunkline',
  ].join('; ')
}

const headersOf = (publicUrl: string): Record<string, string> => ({
  'content-security-policy': policyOf(publicUrl),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self), camera=(), geolocation=()',
})

/** True if an address fits a pattern with `:name` and `:name?` for its parts. */
const fits = (pattern: string, path: string): boolean => {
  const [patternParts, pathParts] = [pattern.split('/'), path.split('/')]
  return (
    pathParts.length <= patternParts.length &&
    patternParts.every((part, i) =>
      part.startsWith(':') ? part.endsWith('?') || Boolean(pathParts[i]) : part === pathParts[i],
    )
  )
}

/** The Link header: the browser loads the modules of the page before the entry asks for them. */
const linksOf = ({ entry, routes }: Manifest, path: string): string => {
  const [, files = []] = routes.find(([pattern]) => fits(pattern, path)) ?? []
  return [...entry, ...files].map((file) => `</console/${file}>; rel=modulepreload`).join(', ')
}

/** Addresses that are both a page and an endpoint: a browser that navigates gets the page. */
const shared = new Set(['/console/claim'])

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false

/**
 * True if the browser certainly has no session, so that the page need not ask. A strict cookie is missing from
 * navigations that begin on another site, so those prove nothing.
 */
const isSignedOut = ({ headers }: FastifyRequest): boolean =>
  ['none', 'same-origin'].includes(String(headers['sec-fetch-site'])) && !/\btrunkline=/.test(headers.cookie ?? '')

/** Pages of people without a session. They begin without the frame. */
const isOutside = (path: string): boolean =>
  /^\/console\/(?:sign-in|claim|invitation|forgotten|email-proof)$/.test(path)

/** Serves the console: one page for every address that no endpoint has, and its hashed assets. */
export const installConsole = async (app: FastifyInstance, publicUrl: () => string): Promise<void> => {
  const manifestOf = makeManifestReader()
  const send = makeCachedPages()

  const page = (request: FastifyRequest, reply: FastifyReply) => {
    const manifest = manifestOf()
    if (!manifest) throw refusals.consoleNotBuilt()
    const path = pathOf(request)
    const frame = isOutside(path) ? 'plain' : 'full'
    reply.headers(headersOf(publicUrl())).header('link', linksOf(manifest, path)).type('text/html; charset=utf-8')
    // TLS of a proxy is the proxy's to announce.
    if ((request.raw.socket as TLSSocket).encrypted) reply.header('strict-transport-security', 'max-age=31536000')
    const session = isSignedOut(request) ? 'none' : 'unknown'
    const facts = `data-session="${session}" data-address="${new URL(publicUrl()).href.replace(/\/$/, '')}"`
    return send(request, reply, `${manifest.build} ${frame} ${facts}`, () =>
      manifest.page.replace('$frame', frame).replace('<html ', `<html ${facts} `),
    )
  }

  await app.register(fastifyStatic, {
    root: join(dist, 'assets'),
    prefix: '/console/assets/',
    decorateReply: false,
    index: false,
    maxAge: 31_536_000_000,
    immutable: true,
    preCompressed: true,
    setHeaders: (reply, path) => {
      reply.header('x-content-type-options', 'nosniff')
      reply.header('cross-origin-resource-policy', 'same-origin')
      reply.header('vary', 'accept-encoding')
      // These two have no hash in their name.
      if (/(?:\.webmanifest|build\.txt)(?:\.br|\.gz)?$/.test(path)) reply.header('cache-control', 'no-cache')
    },
  })
  app.get('/console/sw.js', (request, reply) => {
    const manifest = manifestOf()
    if (!manifest) throw refusals.consoleNotBuilt()
    reply
      .header('x-content-type-options', 'nosniff')
      // Without it, a worker at this address could not serve /console itself.
      .header('service-worker-allowed', '/console')
      .type('text/javascript; charset=utf-8')
    return send(request, reply, `${manifest.build} worker`, () => readFileSync(join(dist, 'sw.js'), 'utf8'))
  })
  app.get('/console', page)
  app.get('/console/*', page)
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET' || !shared.has(pathOf(request))) return
    reply.header('vary', 'accept')
    if (wantsPage(request)) await page(request, reply)
  })
}

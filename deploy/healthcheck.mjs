// Health check of the image: exit status 0 if /healthz answers 200, else 1 with the reason.

import { get } from 'node:http'
import { get as getByTls } from 'node:https'

const { TRUNKLINE_HOST: host = '', TRUNKLINE_PORT: port, TRUNKLINE_TLS_CERT: certificate } = process.env

/** Loopback address to call for each wildcard address, which is not callable itself. */
const loopback = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '::1' }
const target = { host: loopback[host] ?? host, port: port || 8080, path: '/healthz', timeout: 4_000 }

const fail = (reason) => {
  console.error(`healthcheck: ${reason}`)
  process.exit(1)
}

// The certificate names the public host, not the loopback address. The check asks only for liveness.
const request = certificate ? getByTls({ ...target, rejectUnauthorized: false }) : get(target)
request.on('response', ({ statusCode }) =>
  statusCode === 200 ? process.exit(0) : fail(`/healthz answered ${statusCode}`),
)
request.on('timeout', () => fail('no answer within 4 s'))
request.on('error', ({ message }) => fail(message))

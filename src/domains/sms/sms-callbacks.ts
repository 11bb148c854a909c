import type { FastifyInstance } from 'fastify'
import type { Services } from '../../services.ts'
import { installCallbacks } from '../connections/ops.ts'
import { smsDrivers } from './drivers.ts'
import { maxCallbackBytes } from './limits.ts'
import { makePartTokens } from './part-tokens.ts'
import { refusals } from './refusals.ts'

/** Endpoints for carriers without a lasting connection. Receipts and messages are stored before the response. */
export const installSmsCallbacks = async (app: FastifyInstance, services: Services): Promise<void> => {
  const tokens = makePartTokens(services.seal)
  await installCallbacks(app, services, {
    path: '/callbacks/sms/:connection',
    maxBytes: maxCallbackBytes,
    answer: async ({ id, kind, settings }, callback) => {
      const request = { ...callback, isGenuine: (token: string) => tokens.read(id, token) !== null }
      return (await smsDrivers.get(kind)?.callback?.(settings, request, services.carriers.intakeOf(id))) ?? null
    },
    refuse: () => {
      throw refusals.wrongSignature()
    },
  })
}

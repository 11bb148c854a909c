import { api } from './client.ts'

/** A request has all preferences: one that overtakes another would store older ones. */
let last: Promise<unknown> = Promise.resolve()

/** Stores the preferences of the person, after all earlier ones. @throws ApiError */
export const storePreferences = async (preferences: { readonly [name: string]: unknown }): Promise<void> => {
  const stored = last.then(() => api('PATCH /console/me', { body: { preferences } }))
  last = stored.catch(() => {})
  await stored
}

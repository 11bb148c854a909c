import { AsyncLocalStorage } from 'node:async_hooks'

type Context = { readonly requestId: string; isOver: boolean }

const storage = new AsyncLocalStorage<Context>()

/** Fields of the work in progress that each of its log lines has: the request that caused it, if known. */
export const contextFields = (): { request_id?: string } => {
  const context = storage.getStore()
  // A connection that the work opened lives on, and its later lines have another cause.
  return context && !context.isOver ? { request_id: context.requestId } : {}
}

/** Runs work that the work in progress did not cause, though it came about in it. */
export const withoutRequestId = <T>(work: () => T): T => storage.exit(work)

/** Runs work whose log lines carry the id of the request that caused it. */
export const withRequestId = async <T>(requestId: string, work: () => T): Promise<Awaited<T>> => {
  const context: Context = { requestId, isOver: false }
  try {
    return await storage.run(context, work)
  } finally {
    context.isOver = true
  }
}

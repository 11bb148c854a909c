import type { Outgoing } from './outbox-rules.ts'

// IndexedDB holds what waits to be sent: it survives a reload and a restart of the browser.

const name = 'trunkline'
const storeName = 'outbox'

let opened: Promise<IDBDatabase | null> | undefined

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

/** Null where the browser forbids storage: then messages wait as long as the page is open. */
const database = (): Promise<IDBDatabase | null> => {
  opened ??= (async () => {
    try {
      const request = indexedDB.open(name, 1)
      request.onupgradeneeded = () => request.result.createObjectStore(storeName, { keyPath: 'id' })
      return await settled(request)
    } catch {
      return null
    }
  })()
  return opened
}

const run = async <T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> => {
  const found = await database()
  return found && settled(act(found.transaction(storeName, mode).objectStore(storeName)))
}

/** Messages that the browser did not store, as when its disk is full: they wait as long as the page is open. */
const unstored = new Set<string>()

export const storedOutgoing = async (): Promise<readonly Outgoing[]> =>
  // Only `storeOutgoing` writes here.
  ((await run('readonly', (store) => store.getAll())) ?? []) as Outgoing[]

export const storeOutgoing = async (entry: Outgoing): Promise<void> => {
  try {
    await run('readwrite', (store) => store.put(entry))
    unstored.delete(entry.id)
  } catch {
    unstored.add(entry.id)
  }
}

/** A message as it is to be sent: another tab may have sent or tried it meanwhile. As it is here without storage. */
export const storedEntry = async (entry: Outgoing): Promise<Outgoing | undefined> =>
  unstored.has(entry.id) || (await database()) === null
    ? entry
    : // Only `storeOutgoing` writes here.
      ((await run('readonly', (store) => store.get(entry.id))) as Outgoing | undefined)

export const forgetOutgoing = async (id: string): Promise<void> => {
  await run('readwrite', (store) => store.delete(id))
}

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Name of the file in a folder that holds its id. */
export const folderIdFile = '.trunkline-id'

/** Another process may have created the file and not written it yet: this many looks, 50 ms apart. */
const looks = 40

/**
 * Returns the id of a folder, which every process that sees the folder reads. Creates both if they are missing.
 * @throws Error of the file system if the folder cannot be written
 */
export const folderIdOf = async (folder: string): Promise<string> => {
  const path = join(folder, folderIdFile)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(path, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600, flush: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  for (let look = 0; look < looks; look++) {
    const id = (await readFile(path, 'utf8')).trim()
    if (/^[0-9a-f-]{36}$/.test(id)) return id
    await pause(50)
  }
  throw new Error(`${path} holds no id: remove it if no process uses the folder`)
}

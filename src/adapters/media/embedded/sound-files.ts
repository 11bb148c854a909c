import { open } from 'node:fs/promises'
import { maxSoundFileBytes, maxSoundFilesBytes } from '../limits.ts'

/** Sound files of a worker in memory, the least recently used first. A sound that many calls play is read once. */
export class SoundFiles {
  private readonly files = new Map<string, Promise<Buffer>>()
  private readonly sizes = new Map<string, number>()
  private bytes = 0

  /** @throws Error if the file cannot be read, or is too long */
  async read(path: string): Promise<Buffer> {
    const known = this.files.get(path)
    if (known) {
      this.files.delete(path)
      this.files.set(path, known)
      return known
    }
    const reading = readWhole(path)
    this.files.set(path, reading)
    try {
      const { length } = await reading
      // Another one took its place meanwhile.
      if (this.files.get(path) !== reading) return await reading
      this.sizes.set(path, length)
      this.bytes += length
    } catch (error) {
      this.files.delete(path)
      throw error
    }
    for (const [oldest] of this.files) {
      if (this.bytes <= maxSoundFilesBytes) break
      this.files.delete(oldest)
      this.bytes -= this.sizes.get(oldest) ?? 0
      this.sizes.delete(oldest)
    }
    return reading
  }
}

const readWhole = async (path: string): Promise<Buffer> => {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > maxSoundFileBytes) throw new Error(`${path} has ${size} bytes, more than ${maxSoundFileBytes}`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

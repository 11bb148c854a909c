import { open, readFile, stat } from 'node:fs/promises'
import { maxSharedSoundBytes, maxSoundFileBytes, maxSoundFilesBytes } from '../limits.ts'
import { readFileAhead, readOctets, type SoundReader } from './sound-reader.ts'

/**
 * Sound files of a worker. Short ones are in memory, so that a prompt which many calls play is read once; the least recently
 * used leave it. Long ones are read while they are played: a call holds two blocks of them.
 */
export class SoundFiles {
  private readonly files = new Map<string, Promise<Buffer>>()
  private readonly sizes = new Map<string, number>()
  private bytes = 0

  /**
   * @param from octets that the first repetition leaves out @param loop 0: without an end
   * @throws Error if the file cannot be read, is too long, or ends before `from`
   */
  async open(path: string, from: number, loop: number): Promise<SoundReader> {
    const known = this.files.get(path)
    const size = known ? (await known).length : (await stat(path)).size
    if (size > maxSoundFileBytes) throw new Error(`${path} has ${size} bytes, more than ${maxSoundFileBytes}`)
    if (size <= from) throw new Error(`${path} ends before ${from} octets`)
    if (size <= maxSharedSoundBytes) return readOctets(await this.read(path), from, loop)
    const file = await open(path)
    return readFileAhead(file, size, from, loop).catch(async (error: unknown) => {
      await file.close()
      throw error
    })
  }

  private async read(path: string): Promise<Buffer> {
    const known = this.files.get(path)
    if (known) {
      this.files.delete(path)
      this.files.set(path, known)
      return known
    }
    const reading = readFile(path)
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

import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'

/** Permissions of the file: its owner reads and writes it. */
const ownerOnly = 0o600

/** Returns the permissions of a file if others than its owner may use it; null also without a file. */
const laxMode = (path: string): string | null => {
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? ownerOnly) & 0o777
  // Windows has no such permissions, and reports 0666 for all files.
  return mode === ownerOnly || process.platform === 'win32' ? null : mode.toString(8).padStart(4, '0')
}

/**
 * Writes the generated keys of the first start as JSON, as a whole and flushed, for their owner only.
 * @param say prints a line for the operator: when the file replaces one of other permissions
 * @throws Error that names the setting, if the file cannot be written; an existing one is then unchanged
 */
export const writeKeysFile = (
  path: string,
  keys: { readonly apiKey?: string; readonly operatorKey?: string },
  say: (text: string) => void,
): void => {
  const before = laxMode(path)
  const next = `${path}.new`
  try {
    // One that an interrupted start left may have other permissions.
    rmSync(next, { force: true })
    const file = openSync(next, 'wx', ownerOnly)
    try {
      writeSync(file, `${JSON.stringify({ api_key: keys.apiKey, operator_key: keys.operatorKey })}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(next, path)
  } catch (error) {
    throw new Error(`TRUNKLINE_KEYS_FILE cannot be written: ${error instanceof Error ? error.message : error}`)
  }
  if (before !== null) say(`${path} had the mode ${before}. It is replaced by a file of mode 0600.`)
}

import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { refusals as msgappRefusals } from '../../msgapp/refusals.ts'
import { fileImportTimeoutMs, maxHandsetFileBytes } from '../limits.ts'
import type { SimulatorClient, SimulatorFile } from '../simulator-client.ts'

/**
 * Imports a file at a tenant's URL into the simulator, which fetches no tenant URLs itself. The URL and its redirects
 * are checked like any other tenant URL.
 * @throws the 400 Problem when the URL is refused or cannot be fetched
 */
export const importFile = async (
  outbound: Outbound,
  simulator: SimulatorClient,
  url: string,
): Promise<SimulatorFile> => {
  const signal = AbortSignal.timeout(fileImportTimeoutMs)
  const { status, type, body } = await outbound
    .get({ url, idleMs: fileImportTimeoutMs, signal })
    .catch((error: unknown) => {
      if (error instanceof OutboundError) throw msgappRefusals.urlRefused(error.message)
      throw error
    })
  let fault: string | null = status === 200 ? null : `answered ${status}`
  const bounded = async function* (): AsyncGenerator<Buffer> {
    let size = 0
    try {
      for await (const piece of body) {
        size += piece.length
        if (size > maxHandsetFileBytes) throw new Error(`leads to a file of more than ${maxHandsetFileBytes} bytes`)
        yield piece
      }
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  try {
    if (fault !== null) throw msgappRefusals.urlRefused(fault)
    return await simulator.storeFile(bounded(), type?.split(';')[0]?.trim() || 'application/octet-stream')
  } catch (error) {
    if (fault !== null) throw msgappRefusals.urlRefused(fault)
    throw error
  } finally {
    body.destroy()
  }
}

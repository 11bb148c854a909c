import type { Asked as Told } from '../connectors/port.ts'
import { Retry } from '../jobs/kind.ts'

/** What a network says in the end. */
export type Final<V> = Exclude<Told<V>, { outcome: 'later' }>

/** What a network said, once it said something final. @throws Retry when it wants to be asked again */
export const final = <V>(told: Told<V>): Final<V> => {
  if (told.outcome === 'later') throw new Retry(told.reason, told.seconds)
  return told
}

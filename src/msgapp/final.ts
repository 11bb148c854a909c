import type { Asked as Told } from '../connectors/port.ts'
import { type Aged, asTold } from './later.ts'

/** What a network says in the end. */
export type Final<V> = Exclude<Told<V>, { outcome: 'later' }>

/** What a network said, once it said something final. @throws Later when it wants to be asked again */
export const final = <V>(job: Aged, told: Told<V>): Final<V> => (told.outcome === 'later' ? asTold(job, told) : told)

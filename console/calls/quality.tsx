import { KeyValue } from '../parts/page.tsx'
import { Status, type Tone } from '../parts/status.tsx'
import type { Sides } from '../shell/fact-timeline.tsx'
import { words } from '../words/en/calls.ts'
import { duration, number, percent } from '../words/format.ts'
import type { Call } from './call-state.tsx'

type Quality = NonNullable<Call['quality']>
type LegQuality = NonNullable<Quality['caller']>

const grades: readonly (readonly [limit: number, grade: keyof typeof words.one.grades, tone: Tone])[] = [
  [4, 'good', 'good'],
  [3.6, 'fair', 'good'],
  [3, 'poor', 'notice'],
  [0, 'bad', 'bad'],
]

const gradeOf = (mos: number) => grades.find(([limit]) => mos >= limit) ?? ([0, 'bad', 'bad'] as const)

/** The sound of the side that sounds worse. */
export const QualityBadge = ({ quality }: { quality: Quality }) => {
  const scores = [quality.caller, quality.callee].flatMap((leg) => (leg ? [leg.mos] : []))
  const [, grade, tone] = gradeOf(Math.min(...scores))
  return <Status tone={tone}>{words.one.grades[grade]}</Status>
}

const Leg = ({ leg }: { leg: LegQuality }) => {
  const [, grade, tone] = gradeOf(leg.mos)
  const { loss_percent: loss, jitter_ms: jitter, round_trip_ms: roundTrip } = leg
  return (
    <span class="stack stack-close">
      <span class="row">
        <Status tone={tone}>{words.one.grades[grade]}</Status>
        <span class="tabular">{words.one.score(number(leg.mos, { maximumFractionDigits: 1 }))}</span>
      </span>
      <span class="soft tabular">
        {[
          words.one.loss(percent(loss / 100)),
          words.one.jitter(duration(jitter)),
          ...(roundTrip === undefined ? [] : [words.one.roundTrip(duration(roundTrip))]),
        ].join(' · ')}
      </span>
    </span>
  )
}

/** The sound of each side, with its measurements. */
export const LegQualities = ({ quality, sides }: { quality: Quality; sides: Sides }) => (
  <KeyValue
    facts={(['caller', 'callee'] as const).flatMap((side) => {
      const leg = quality[side]
      return leg ? [{ name: sides[side], value: <Leg leg={leg} /> }] : []
    })}
  />
)

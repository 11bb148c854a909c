import type { Parts } from '../parts.ts'
import { storeOf, waiting } from './archive.ts'

/** The figures of calls in /metrics. */
export const installVoiceMetrics = ({ metrics, voice: { figures }, db, config }: Parts): void => {
  const hasStore = storeOf(config) !== null
  const trunks = (read: (trunk: ReturnType<typeof figures>['trunks'][number]) => number) => () =>
    figures().trunks.map((trunk) => ({ labels: { trunk: trunk.name }, value: read(trunk) }))
  metrics.gauge('trunkline_voice_running', '1 in the process that runs the calls', [], () => [
    { labels: {}, value: figures().isRunning ? 1 : 0 },
  ])
  metrics.gauge('trunkline_calls', 'Calls under way', [], () => [{ labels: {}, value: figures().calls }])
  metrics.gauge('trunkline_calls_room', 'Calls more that there is room for', [], () => [
    { labels: {}, value: figures().room },
  ])
  metrics.gauge(
    'trunkline_trunk_up',
    '1 while a trunk answers',
    ['trunk'],
    trunks(({ isUp }) => (isUp ? 1 : 0)),
  )
  metrics.gauge(
    'trunkline_trunk_calls',
    'Calls under way over a trunk',
    ['trunk'],
    trunks(({ calls }) => calls),
  )
  metrics.gauge('trunkline_recordings_waiting', 'Recordings that are to move into the store', [], async () => [
    { labels: {}, value: hasStore ? await waiting(db) : 0 },
  ])
}

import type { Services } from '../../services.ts'
import { countWaiting, storeOf } from './recordings/recording-upload.ts'

/** Registers the metrics of calls. */
export const installVoiceMetrics = ({ metrics, voice: { stats }, db, config }: Services): void => {
  const hasStore = storeOf(config) !== null
  const trunks = (read: (trunk: ReturnType<typeof stats>['trunks'][number]) => number) => () =>
    stats().trunks.map((trunk) => ({ labels: { trunk: trunk.name }, value: read(trunk) }))
  metrics.gauge('trunkline_voice_running', '1 in the process that runs the calls', [], () => [
    { labels: {}, value: stats().isRunning ? 1 : 0 },
  ])
  metrics.gauge('trunkline_calls', 'Current calls', [], () => [{ labels: {}, value: stats().calls }])
  metrics.gauge('trunkline_call_capacity_available', 'Free call capacity', [], () => [
    { labels: {}, value: stats().freeCapacity },
  ])
  metrics.gauge(
    'trunkline_trunk_up',
    '1 while a trunk answers',
    ['trunk'],
    trunks(({ isUp }) => (isUp ? 1 : 0)),
  )
  metrics.gauge(
    'trunkline_trunk_calls',
    'Current calls over a trunk',
    ['trunk'],
    trunks(({ calls }) => calls),
  )
  metrics.gauge('trunkline_recordings_waiting', 'Recordings to upload into the store', [], async () => [
    { labels: {}, value: hasStore ? await countWaiting(db) : 0 },
  ])
}

import { load, post } from './load.ts'

// A client in its own process that sends as fast as the platform answers, until it is killed.

const { BENCH_PORT, BENCH_KEY, BENCH_FROM, BENCH_CONNECTIONS } = process.env
const body = {
  from_number: BENCH_FROM,
  to_number: '+447711111111',
  text: 'A message of a client that sends all it has',
}
const request = post('/open/sms/send', { 'x-user-api-key': BENCH_KEY ?? '' }, JSON.stringify(body))
process.stdout.write('started\n')
await load(Number(BENCH_PORT), Number(BENCH_CONNECTIONS), 3_600, () => request)

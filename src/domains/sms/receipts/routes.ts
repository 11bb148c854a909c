import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { hasConnection } from '../../connections/ops.ts'
import { refusals as connectionRefusals } from '../../connections/refusals.ts'
import * as c from './contract.ts'
import * as store from './unparsed-receipt-store.ts'

const presentUnparsed = ({ received_at, reason, source, destination, octets, fields }: store.UnparsedReceiptRow) => ({
  received_at: iso(received_at),
  reason,
  from: source,
  to: destination,
  text: octets.toString('latin1').replace(/[^ -~]/g, '.'),
  octets: octets.toString('hex'),
  fields,
})

export const unparsedReceiptRoutes = ({ db }: Services) => [
  route(c.listUnparsedReceipts, async ({ params: { connection_uuid: printed } }) => {
    const id = parse('CNX', printed)
    if (id === null || !(await hasConnection(db, id))) return refuse(connectionRefusals.unknownConnection(printed))
    return ok({ receipts: (await store.listUnparsedReceipts(db, id)).map(presentUnparsed) })
  }),
]

import { statuses } from '@trunkline/smpp/pdu.ts'
import { decodeParts } from '@trunkline/smpp/user-data.ts'
import type { SmsDriver, SmsShare } from '../../ports/sms.ts'
import { connectSmpp } from './smpp-carrier.ts'
import type { SmppSettings } from './smpp-settings.ts'
import { statusReasons } from './status-reasons.ts'

/** Log levels of routine events; all others are logged at warn. */
const logLevels = new Map<string, 'debug' | 'info'>([
  ['bound', 'info'],
  ['pdu', 'debug'],
])

/** The settings for a share of the connection: the window is one of each bind. */
const shareOf = (settings: SmppSettings, { held, of }: SmsShare): SmppSettings => {
  if (held === of) return settings
  const { tps, tps_per_sender: perSender } = settings
  return {
    ...settings,
    binds: held,
    ...(tps !== undefined && { tps: (tps * held) / of }),
    ...(perSender !== undefined && { tps_per_sender: (perSender * held) / of }),
  }
}

/** SMS carriers over SMPP. */
export const smppDriver: SmsDriver<SmppSettings> = {
  capabilitiesOf: ({
    bind = 'transceiver',
    binds = 1,
    long = 'udh8',
    national_languages: languages = [],
    tps = null,
    query_sm: asks = true,
  }) => ({
    send: bind !== 'receiver',
    texts: long === 'payload' ? 'whole' : 'parts',
    // The carrier may make the longer header of SAR parameters, whose reference has 16 bits.
    header: long === 'udh16' || long === 'sar' ? 'udh16' : 'udh8',
    // Shift tables need a user data header; SAR parameters and payloads that the carrier splits have none.
    languages: long === 'udh8' || long === 'udh16' ? languages : [],
    receipts: bind !== 'transmitter',
    inbound: bind !== 'transmitter',
    queries: asks && bind !== 'receiver',
    pace: tps,
    slots: binds,
  }),
  connect: (settings, { events, share, mayCountFormerLinks, log, traces }) =>
    connectSmpp(
      shareOf(settings, share),
      events,
      (event, details) => log(logLevels.get(event) ?? 'warn', event, details),
      { traces, mayCountFormerLinks },
    ),
  joinParts: decodeParts,
  acceptedStatus: 'ESME_ROK',
  isKnownReason: (reason) => Object.hasOwn(statuses, reason),
  reasons: statusReasons,
}

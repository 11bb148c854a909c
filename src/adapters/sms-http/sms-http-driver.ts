import type { SmsCallback, SmsDriver, SmsIntake } from '../../ports/sms.ts'
import { bindProvider, connectHttp } from './http-carrier.ts'
import { defaultWindow } from './limits.ts'
import type { Provider } from './provider.ts'
import { bandwidth } from './providers/bandwidth.ts'
import { generic } from './providers/generic.ts'
import { kannel } from './providers/kannel.ts'
import { telnyx } from './providers/telnyx.ts'
import { twilio } from './providers/twilio.ts'
import { vonage } from './providers/vonage.ts'
import type { ProviderName, SettingsByProvider, SmsHttpSettings } from './sms-http-settings.ts'

const providers: { readonly [Name in ProviderName]: Provider<SettingsByProvider[Name]> } = {
  generic,
  twilio,
  telnyx,
  vonage,
  bandwidth,
  kannel,
}

/** The provider of the settings. The schema of the kind ties the settings to the provider's name. */
const providerOf = ({ provider }: SmsHttpSettings) => providers[provider] as Provider<SmsHttpSettings>

/** Reasons by status, of answers without a code. */
const statusReasons: SmsDriver<SmsHttpSettings>['reasons'] = new Map([
  ['http_400', { text: 'The provider refused the message', advice: 'check_number' }],
  ['http_402', { text: 'The balance of the account at the provider is too low', advice: 'check_settings' }],
  ['http_403', { text: 'The provider does not let the account send this message', advice: 'check_settings' }],
  ['http_404', { text: 'The address of the provider is wrong', advice: 'check_settings' }],
  ['http_422', { text: 'The provider refused the message', advice: 'check_number' }],
  ['http_429', { text: 'The provider received too many messages at once', advice: 'send_again' }],
  ['http_503', { text: 'The provider is busy', advice: 'send_again' }],
])

const reasons: SmsDriver<SmsHttpSettings>['reasons'] = new Map([
  ...statusReasons,
  ...Object.entries(providers).flatMap(([name, provider]) =>
    [...provider.reasons].map(([code, reason]) => [`${name}_${code}`, reason] as const),
  ),
])

/** SMS carriers over HTTP. */
export const smsHttpDriver: SmsDriver<SmsHttpSettings> = {
  capabilitiesOf: (settings) => {
    const { tps = null, slots = 1, window = defaultWindow } = settings
    return {
      send: true,
      texts: 'whole',
      header: 'udh8',
      languages: [],
      mms: providerOf(settings).takesMedia?.(settings) ?? false,
      receipts: true,
      inbound: true,
      pace: tps,
      slots: Math.min(slots, window),
      callbacks: true,
      // No provider documents a key that makes a second submit harmless.
      lostResponse: 'hold',
    }
  },
  connect: (settings, deps) => connectHttp(bindProvider(providerOf(settings), settings), settings, deps),
  callback: (settings, request: SmsCallback, intake: SmsIntake) =>
    providerOf(settings).callback(settings, request, intake),
  mediaHeaders: (settings, url) => providerOf(settings).mediaHeaders?.(settings, url) ?? {},
  acceptedStatus: 'accepted',
  isKnownReason: (reason) => reasons.has(reason) || /^http_[1-5][0-9]{2}$/.test(reason),
  reasons,
}

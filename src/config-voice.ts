import { integer, ip, oneOf, optional, peer, ports, setting, shaped, text } from './lib/setting.ts'

/** The settings of voice, in the order in which the documentation shows them. */
export const voiceSettings = {
  voiceHost: setting(
    'TRUNKLINE_VOICE_HOST',
    '',
    'IP address that SIP of trunks and all audio are bound to, 0.0.0.0 for every one. Default: as TRUNKLINE_HOST.',
    optional(ip),
  ),
  voicePublicIp: setting(
    'TRUNKLINE_VOICE_PUBLIC_IP',
    '',
    'IP address that browsers and trunks are told, where it is not the one that is bound: that of the NAT in front of us. Default: the one that is bound, or the first of this machine.',
    optional(ip),
  ),
  sipPort: setting(
    'TRUNKLINE_SIP_PORT',
    '',
    'Port of SIP of trunks, UDP and TCP; 0 takes any free one. Default: 5060, in the sandbox 0.',
    optional(integer(0, 65_535)),
  ),
  sipTlsPort: setting(
    'TRUNKLINE_SIP_TLS_PORT',
    '',
    'Port of SIP over TLS, with the certificate of TRUNKLINE_TLS_CERT; trunks over TLS need it. Default: none.',
    optional(integer(0, 65_535)),
  ),
  rtpPorts: setting(
    'TRUNKLINE_RTP_PORTS',
    '30000-31999',
    'UDP ports of audio with trunks, two a call; 0 takes any free ones.',
    ports,
  ),
  webrtcPorts: setting(
    'TRUNKLINE_WEBRTC_PORTS',
    '40000-41999',
    'UDP ports of audio with browsers, one for each; 0 takes any free ones.',
    ports,
  ),
  mediaEngine: setting(
    'TRUNKLINE_MEDIA_ENGINE',
    'embedded',
    'What carries audio: threads of this process (embedded), or rtpengine.',
    oneOf('embedded', 'rtpengine'),
  ),
  mediaWorkers: setting(
    'TRUNKLINE_MEDIA_WORKERS',
    '',
    'Threads for audio. Default: one a core, less one.',
    optional(integer(1, 64)),
  ),
  mediaCalls: setting(
    'TRUNKLINE_MEDIA_CALLS',
    '100',
    'Calls at a time: of each thread, or of rtpengine as a whole. More are refused with 503.',
    integer(1, 10_000),
  ),
  rtpengine: setting(
    'TRUNKLINE_RTPENGINE',
    '127.0.0.1:2223',
    'Where rtpengine listens for commands (its listen-ng).',
    peer,
  ),
  rtpengineKeys: setting(
    'TRUNKLINE_RTPENGINE_DTMF',
    '127.0.0.1:2224',
    'Where we listen for the keys that rtpengine heard (its dtmf-log-dest).',
    peer,
  ),
  rtpengineRecordings: setting(
    'TRUNKLINE_RTPENGINE_RECORDINGS',
    '/var/spool/rtpengine',
    'The recording-dir of rtpengine, as this machine sees it.',
    text,
  ),
  callsAtATime: setting(
    'TRUNKLINE_CALLS_AT_A_TIME',
    '20',
    'Calls that an account may have at a time, unless an operator says otherwise (call-limits change).',
    integer(1, 100_000),
  ),
  callsPerMinute: setting(
    'TRUNKLINE_CALLS_PER_MINUTE',
    '60',
    'Calls that an account may try within a minute, unless an operator says otherwise.',
    integer(1, 100_000),
  ),
  callSpendPerDay: setting(
    'TRUNKLINE_CALL_SPEND_PER_DAY',
    '50',
    'US dollars that an account may spend a day (UTC) on calls, unless an operator says otherwise.',
    shaped(/^[0-9]{1,9}(\.[0-9]{1,6})?$/, 'wants US dollars such as 50 or 12.50'),
  ),
  timelineDays: setting(
    'TRUNKLINE_RETENTION_DAYS_TIMELINES',
    '30',
    'Days that the timelines of calls are kept.',
    integer(1, 3650),
  ),
}

import { integer, ip, matching, oneOf, optional, peer, ports, setting, text } from './platform/lib/setting.ts'

/** Settings of voice, in the order of the documentation. */
export const voiceSettings = {
  voiceHost: setting(
    'TRUNKLINE_VOICE_HOST',
    '',
    'IP address to which trunk SIP and all audio are bound; 0.0.0.0 for all. Default: TRUNKLINE_HOST.',
    optional(ip),
  ),
  voicePublicIp: setting(
    'TRUNKLINE_VOICE_PUBLIC_IP',
    '',
    'IP address advertised to browsers and trunks when it differs from the bound one, such as the public address of a NAT. Default: the bound address, or the first one of this machine.',
    optional(ip),
  ),
  sipPort: setting(
    'TRUNKLINE_SIP_PORT',
    '',
    'Port of trunk SIP, UDP and TCP; 0 takes any free one. Default: 5060, in the sandbox 0.',
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
    'Media engine: threads of this process (embedded), or rtpengine.',
    oneOf('embedded', 'rtpengine'),
  ),
  mediaWorkers: setting(
    'TRUNKLINE_MEDIA_WORKERS',
    '',
    'Threads for audio. Default: one per core, minus one.',
    optional(integer(1, 64)),
  ),
  mediaCalls: setting(
    'TRUNKLINE_MEDIA_CALLS',
    '100',
    'Concurrent calls of each thread, or of rtpengine as a whole. More are refused with 503.',
    integer(1, 10_000),
  ),
  mediaTimeoutSeconds: setting(
    'TRUNKLINE_MEDIA_TIMEOUT_SECONDS',
    '60',
    'Seconds without a sign of life from one side after which a call ends (media_timeout), unless a side is on hold; 0: never. Audio and comfort noise count, keys, RTCP, and the checks of browsers.',
    integer(0, 86_400),
  ),
  rtpengine: setting(
    'TRUNKLINE_RTPENGINE',
    '127.0.0.1:2223',
    'Address of the command port of rtpengine (its listen-ng).',
    peer,
  ),
  rtpengineKeys: setting(
    'TRUNKLINE_RTPENGINE_DTMF',
    '127.0.0.1:2224',
    'Address at which we receive DTMF events of rtpengine (its dtmf-log-dest).',
    peer,
  ),
  rtpengineRecordings: setting(
    'TRUNKLINE_RTPENGINE_RECORDINGS',
    '/var/spool/rtpengine',
    'The recording-dir of rtpengine, as a path on this machine.',
    text,
  ),
  callsAtATime: setting(
    'TRUNKLINE_MAX_CONCURRENT_CALLS',
    '20',
    'Concurrent calls of an account, unless an operator sets another limit (call-limits change).',
    integer(1, 100_000),
  ),
  callsPerMinute: setting(
    'TRUNKLINE_CALLS_PER_MINUTE',
    '60',
    'Call attempts of an account per minute, unless an operator sets another limit.',
    integer(1, 100_000),
  ),
  callSpendPerDay: setting(
    'TRUNKLINE_CALL_SPEND_PER_DAY',
    '50',
    'US dollars that an account may spend on calls per day (UTC), unless an operator sets another limit.',
    matching(/^[0-9]{1,9}(\.[0-9]{1,6})?$/, 'wants US dollars such as 50 or 12.50'),
  ),
  timelineDays: setting(
    'TRUNKLINE_RETENTION_DAYS_TIMELINES',
    '30',
    'Days for which call timelines are stored.',
    integer(1, 3650),
  ),
}

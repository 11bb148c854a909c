// Limits of the media engines.

/** Bytes of a captured packet; a longer one means a damaged file. */
export const maxCapturedBytes = 65_536

/** Milliseconds between queries for the statistics of a call. */
export const statsPollMs = 1_000

/** Requests that wait for rtpengine. Bounds memory while it does not answer. */
export const maxPendingRequests = 10_000

/**
 * Milliseconds of silence after which a plain leg takes media from another expected address or port: the peer has moved,
 * as by a new binding of its NAT. Longer than the gaps that peers make which suppress silence.
 */
export const relearnAfterMs = 2_000

/** Unexpected addresses reported per leg, so that a flood cannot fill the call's timeline. */
export const maxReportedAddresses = 4

/**
 * Packets that may be lost in a row; the sender preserves such gaps. A larger gap is a source that has restarted
 * (RFC 3550, A.1): its numbers would repeat, and receivers refuse repetitions.
 */
export const maxDropout = 3_000

/** Packets by which one may be late, likewise. */
export const maxMisorder = 100

/** Addresses per call. A browser tries only a few pairs; more cannot be its own. */
export const maxPeers = 32

/** Bytes of a DTLS message. A ClientHello with a post-quantum key fills two datagrams; certificates rarely more. */
export const maxHandshakeBytes = 32_768

/** DTLS messages held before the missing one arrives: a flight has fewer. */
export const maxMessagesAhead = 8

/** DTLS messages of one type that are processed in a handshake. Some cost a signature; browsers repeat theirs less often. */
export const maxMessagesOfType = 16

/** Bytes of a DTLS datagram. Browsers send at most 1,500. */
export const maxDtlsDatagramBytes = 8_192

/** Fragments of messages that are taken from a DTLS server in a handshake. Bounds memory. */
export const maxServerFragments = 256

/** Milliseconds between two starts of the same worker. The first restart is immediate. */
export const workerRestartMs = 1_000

/** Calls that a running worker takes before another one is started. */
export const callsBeforeNext = 10

/** Keys sent by one request: more than a dialled number or a code has. */
export const maxDigits = 64

/** Ticks of the clock that a late timer makes up for: 100 ms. */
export const maxLateTicks = 5

/** Milliseconds for which a packet waits for one before it, where frames must be in order. */
export const maxReorderMs = 40

/** A larger step of timestamps, in milliseconds, is another stream. Bounds the silence that fills a gap. */
export const maxFrameGapMs = 10_000

/** Listeners of a leg's frames: a stream and a recogniser of speech, for each direction. */
export const maxListeners = 4

/** Octets that wait in a feed or a stream: 300 s of G.711, as a program may push a whole announcement at once. */
export const maxFeedBytes = 2_400_000

/** Feeds of a leg: more would hold memory without end. */
export const maxFeeds = 8

/** Sounds of one request to play: more than a prompt has parts. */
export const maxSounds = 200

/** Recordings of a call at a time: the whole call, and a few of its parts. Each has a file and 128 KB of memory. */
export const maxRecordings = 4

/** Octets of a sound file: 44 minutes of G.711. */
export const maxSoundFileBytes = 20_971_520

/** Octets of a sound file that a worker holds in memory: two minutes. Longer ones are read while they are played. */
export const maxSharedSoundBytes = 1_048_576

/** Octets of a long sound file that are read at once: 8 s, whole frames. A player holds two. */
export const soundBlockBytes = 64_000

/** Octets of sound files that a worker holds in memory. */
export const maxSoundFilesBytes = 67_108_864

/** Legs of a call: the one that speaks, ten targets that ring at once, and others while targets change. */
export const maxLegs = 16

/** Milliseconds between reports of a call. */
export const reportMs = 5_000

/** Milliseconds until a handshake without keys fails: several retransmissions. */
export const handshakeTimeoutMs = 30_000

/** Bytes of a socket's receive buffer: two seconds of a call while the worker is busy. */
export const socketBytes = 262_144

/** Milliseconds of G.711 in a packet to a peer. Shorter packets are mostly headers: 5 ms are 200 packets a second. */
export const minPacketMs = 5

/** Longer packets delay the speech, and above 180 ms exceed an Ethernet frame. */
export const maxPacketMs = 120

/** Milliseconds of a packet for a peer that names only a limit: the default of G.711 (RFC 3551, 4.5). */
export const defaultPacketMs = 20

/** Milliseconds of the Opus packets that are forwarded. They cannot be split. */
export const opusPacketMs = 20

/** Milliseconds until the WebSocket of a stream must be open. */
export const openTimeoutMs = 5_000

/** Milliseconds until the server of a stream must have answered a close frame. */
export const closeTimeoutMs = 5_000

/** Octets of audio in a frame of a server: two minutes of G.711, as programs may send a whole answer at once. */
export const maxStreamPayloadBytes = 1_048_576

/** Octets of a WebSocket frame: the longest payload in base64, and the JSON around it. */
export const maxStreamFrameBytes = 1_500_000

/** Characters of the name of a mark: longer than ids that programs make. */
export const maxMarkNameLength = 1_000

/** Marks that wait to be reached: one for each word of what waits. */
export const maxStreamMarks = 1_000

/** Invalid frames of a server in a row, after which it is taken for one of another protocol. */
export const maxInvalidFrames = 100

/** Octets in the buffer of a stream's socket: 30 frames of G.711. More could not be dropped for a slow server. */
export const maxSocketBytes = 8_192

/** Frames of a track between two pings: 0.5 s. */
export const pingFrames = 25

/**
 * Frames of a track that a server has not confirmed by a pong: 1.5 s, and the way to the server and back takes less than
 * 1 s. Without this limit, a server that reads nothing would get minutes of old audio from the buffers of the system.
 */
export const maxUnconfirmedFrames = 75

/** Frames of a track that wait for a slow server: 2 s. */
export const maxWaitingFrames = 100

/** Marks and keys that wait for a slow server. They are never dropped. */
export const maxWaitingNotices = 1_000

/** Milliseconds after which a server that takes nothing is given up: programs may stall for 10 s. */
export const stalledMs = 30_000

/** Octets that a stream may receive at once. Reading 1 MB takes some milliseconds, in which no other call is served. */
export const receivedReserveBytes = 8_388_608

/** Octets that a stream may receive each second after that: 20 times what the longest format takes. */
export const receivedBytesPerSecond = 1_048_576

/** Octets that a frame counts for, in addition to its own. */
export const receivedFrameBytes = 256

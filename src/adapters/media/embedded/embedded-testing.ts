/** Settings of an engine in tests: free ports on loopback, and one worker. */
export const loopback = {
  bind: '127.0.0.1',
  advertised: '127.0.0.1',
  rtpPorts: [0, 0],
  webrtcPorts: [0, 0],
  workers: 1,
} as const

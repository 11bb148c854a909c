import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Id, Named, Ok, Time } from '../../platform/http/schema.ts'

export const getCredentials = contract({
  id: 'getCredentials',
  makes: 'device',
  method: 'POST',
  url: '/open/sdk/credentials',
  tag: 'Voice',
  summary: 'Exchange a voice token for short-lived credentials of SIP and TURN; called by the browser',
  description:
    'The browser client calls this operation itself. The credentials expire; request new ones before expires_at.',
  auth: 'voice',
  shape: 'full',
  secure: true,
  browser: true,
  body: Type.Object({
    renew: Type.Optional(
      Type.Boolean({
        description: 'True to renew the credentials of the same Device, which keeps the generation. Default: false',
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    sip: Named(
      'SipCredentials',
      Type.Object({
        uri: Type.String({ examples: ['sip:USR01a1fcca-93ab-7cbc-9f10-be702f775479@sms.example.com'] }),
        ws_url: Type.String({ description: 'SIP over WebSocket', examples: ['wss://sms.example.com/voice'] }),
        realm: Type.String({ examples: ['sms.example.com'] }),
        username: Type.String({ examples: ['1795242000:USR01a1fcca-93ab-7cbc-9f10-be702f775479'] }),
        password: Type.String({ examples: ['9xqz8tXkVXyQe1cX0Gq1cJrYb7c='] }),
        generation: Type.Integer({
          minimum: 1,
          description: 'Generation of the Device, sent as X-Device-Gen; the newest registration wins',
        }),
      }),
    ),
    ice_servers: Type.Array(
      Named(
        'IceServer',
        Type.Object({
          urls: Type.Array(Type.String({ examples: ['turn:turn.example.com:3478?transport=udp'] })),
          username: Type.Optional(Type.String()),
          credential: Type.Optional(Type.String()),
        }),
      ),
      { description: 'ICE servers in the format of RTCPeerConnection; empty if none are needed' },
    ),
    expires_at: Time,
    user_uuid: Id('USR'),
    label: Type.Union([Type.String(), Type.Null()]),
  }),
  errors: {
    forbidden:
      'The account is blocked, the user is not active (user_inactive), or the request did not come over HTTPS (https_required)',
  },
})

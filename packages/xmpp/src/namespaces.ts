/** Namespaces, by the extension that defines them. */
export const ns = {
  streams: 'http://etherx.jabber.org/streams',
  /** RFC 6120 */
  streamErrors: 'urn:ietf:params:xml:ns:xmpp-streams',
  stanzaErrors: 'urn:ietf:params:xml:ns:xmpp-stanzas',
  tls: 'urn:ietf:params:xml:ns:xmpp-tls',
  sasl: 'urn:ietf:params:xml:ns:xmpp-sasl',
  bind: 'urn:ietf:params:xml:ns:xmpp-bind',
  /** RFC 6121 */
  roster: 'jabber:iq:roster',
  /** XEP-0004 */
  forms: 'jabber:x:data',
  /** XEP-0030 */
  discoInfo: 'http://jabber.org/protocol/disco#info',
  discoItems: 'http://jabber.org/protocol/disco#items',
  /** XEP-0045 */
  muc: 'http://jabber.org/protocol/muc',
  mucUser: 'http://jabber.org/protocol/muc#user',
  mucAdmin: 'http://jabber.org/protocol/muc#admin',
  mucOwner: 'http://jabber.org/protocol/muc#owner',
  /** XEP-0050 */
  commands: 'http://jabber.org/protocol/commands',
  /** XEP-0054, XEP-0153 */
  vcardTemp: 'vcard-temp',
  vcardUpdate: 'vcard-temp:x:update',
  /** XEP-0059 */
  paging: 'http://jabber.org/protocol/rsm',
  /** XEP-0060 */
  pubsub: 'http://jabber.org/protocol/pubsub',
  pubsubEvent: 'http://jabber.org/protocol/pubsub#event',
  /** XEP-0066 */
  oob: 'jabber:x:oob',
  /** XEP-0080 */
  geoloc: 'http://jabber.org/protocol/geoloc',
  /** XEP-0084 */
  avatarData: 'urn:xmpp:avatar:data',
  avatarMetadata: 'urn:xmpp:avatar:metadata',
  /** XEP-0085 */
  chatStates: 'http://jabber.org/protocol/chatstates',
  /** XEP-0133 */
  admin: 'http://jabber.org/protocol/admin',
  /** XEP-0166, XEP-0167, XEP-0353 */
  jingle: 'urn:xmpp:jingle:1',
  jingleRtp: 'urn:xmpp:jingle:apps:rtp:1',
  jingleMessage: 'urn:xmpp:jingle-message:0',
  /** XEP-0184 */
  receipts: 'urn:xmpp:receipts',
  /** XEP-0198 */
  management: 'urn:xmpp:sm:3',
  /** XEP-0199 */
  ping: 'urn:xmpp:ping',
  /** XEP-0203 */
  delay: 'urn:xmpp:delay',
  /** XEP-0249 */
  conference: 'jabber:x:conference',
  /** XEP-0280 */
  carbons: 'urn:xmpp:carbons:2',
  /** XEP-0292 */
  vcard4: 'urn:ietf:params:xml:ns:vcard-4.0',
  vcard4Node: 'urn:xmpp:vcard4',
  /** XEP-0297 */
  forward: 'urn:xmpp:forward:0',
  /** XEP-0308 */
  correct: 'urn:xmpp:message-correct:0',
  /** XEP-0313 */
  archive: 'urn:xmpp:mam:2',
  /** XEP-0333 */
  markers: 'urn:xmpp:chat-markers:0',
  /** XEP-0334 */
  hints: 'urn:xmpp:hints',
  /** XEP-0359 */
  stanzaIds: 'urn:xmpp:sid:0',
  /** XEP-0363 */
  upload: 'urn:xmpp:http:upload:0',
  /** XEP-0424 */
  retract: 'urn:xmpp:message-retract:1',
  /** XEP-0444 */
  reactions: 'urn:xmpp:reactions:0',
  /** XEP-0461 */
  reply: 'urn:xmpp:reply:0',
} as const

/** The protocol data units of SMPP 3.4 (section 4) as plain objects, with their numbers on the wire. */

/** command_id (5.1.2.1). */
export const commandIds = {
  generic_nack: 0x80000000,
  bind_receiver: 0x00000001,
  bind_receiver_resp: 0x80000001,
  bind_transmitter: 0x00000002,
  bind_transmitter_resp: 0x80000002,
  query_sm: 0x00000003,
  query_sm_resp: 0x80000003,
  submit_sm: 0x00000004,
  submit_sm_resp: 0x80000004,
  deliver_sm: 0x00000005,
  deliver_sm_resp: 0x80000005,
  unbind: 0x00000006,
  unbind_resp: 0x80000006,
  replace_sm: 0x00000007,
  replace_sm_resp: 0x80000007,
  cancel_sm: 0x00000008,
  cancel_sm_resp: 0x80000008,
  bind_transceiver: 0x00000009,
  bind_transceiver_resp: 0x80000009,
  outbind: 0x0000000b,
  enquire_link: 0x00000015,
  enquire_link_resp: 0x80000015,
  alert_notification: 0x00000102,
  data_sm: 0x00000103,
  data_sm_resp: 0x80000103,
} as const

export type CommandName = keyof typeof commandIds

/** command_status (5.1.3). */
export const statuses = {
  ESME_ROK: 0x00,
  ESME_RINVMSGLEN: 0x01,
  ESME_RINVCMDLEN: 0x02,
  ESME_RINVCMDID: 0x03,
  ESME_RINVBNDSTS: 0x04,
  ESME_RALYBND: 0x05,
  ESME_RINVPRTFLG: 0x06,
  ESME_RINVREGDLVFLG: 0x07,
  ESME_RSYSERR: 0x08,
  ESME_RINVSRCADR: 0x0a,
  ESME_RINVDSTADR: 0x0b,
  ESME_RINVMSGID: 0x0c,
  ESME_RBINDFAIL: 0x0d,
  ESME_RINVPASWD: 0x0e,
  ESME_RINVSYSID: 0x0f,
  ESME_RCANCELFAIL: 0x11,
  ESME_RREPLACEFAIL: 0x13,
  ESME_RMSGQFUL: 0x14,
  ESME_RINVSERTYP: 0x15,
  ESME_RINVNUMDESTS: 0x33,
  ESME_RINVDLNAME: 0x34,
  ESME_RINVDESTFLAG: 0x40,
  ESME_RINVSUBREP: 0x42,
  ESME_RINVESMCLASS: 0x43,
  ESME_RCNTSUBDL: 0x44,
  ESME_RSUBMITFAIL: 0x45,
  ESME_RINVSRCTON: 0x48,
  ESME_RINVSRCNPI: 0x49,
  ESME_RINVDSTTON: 0x50,
  ESME_RINVDSTNPI: 0x51,
  ESME_RINVSYSTYP: 0x53,
  ESME_RINVREPFLAG: 0x54,
  ESME_RINVNUMMSGS: 0x55,
  ESME_RTHROTTLED: 0x58,
  ESME_RINVSCHED: 0x61,
  ESME_RINVEXPIRY: 0x62,
  ESME_RINVDFTMSGID: 0x63,
  ESME_RX_T_APPN: 0x64,
  ESME_RX_P_APPN: 0x65,
  ESME_RX_R_APPN: 0x66,
  ESME_RQUERYFAIL: 0x67,
  ESME_RINVOPTPARSTREAM: 0xc0,
  ESME_ROPTPARNOTALLWD: 0xc1,
  ESME_RINVPARLEN: 0xc2,
  ESME_RMISSINGOPTPARAM: 0xc3,
  ESME_RINVOPTPARAMVAL: 0xc4,
  ESME_RDELIVERYFAILURE: 0xfe,
  ESME_RUNKNOWNERR: 0xff,
} as const

const statusNames = new Map<number, string>(Object.entries(statuses).map(([name, status]) => [status, name]))

/** The standard's name of a command_status, or its hexadecimal form. */
export const statusName = (status: number): string =>
  statusNames.get(status) ?? `0x${status.toString(16).padStart(8, '0')}`

/** Supported optional parameters (5.3.2), by tag. */
export const tags = {
  receipted_message_id: 0x001e,
  user_message_reference: 0x0204,
  sar_msg_ref_num: 0x020c,
  sar_total_segments: 0x020e,
  sar_segment_seqnum: 0x020f,
  sc_interface_version: 0x0210,
  network_error_code: 0x0423,
  message_payload: 0x0424,
  message_state: 0x0427,
} as const

/** Optional parameters by tag, in wire order; of a repeated tag the last one. */
export type Tlvs = ReadonlyMap<number, Buffer>

export const noTlvs: Tlvs = new Map()

/** An address on the wire: type of number, numbering plan, digits without `+` (5.2.5 to 5.2.8). */
export type Address = { readonly ton: number; readonly npi: number; readonly address: string }

type PduHeader = { readonly sequence: number; readonly status: number }

export type BindPdu = PduHeader & {
  readonly command: 'bind_receiver' | 'bind_transmitter' | 'bind_transceiver'
  readonly systemId: string
  readonly password: string
  readonly systemType: string
  readonly version: number
  readonly range: Address
}

export type BindResponsePdu = PduHeader & {
  readonly command: 'bind_receiver_resp' | 'bind_transmitter_resp' | 'bind_transceiver_resp'
  readonly systemId: string
  readonly tlvs: Tlvs
}

/** PDUs that consist of a header alone. */
export type HeaderOnlyPdu = PduHeader & {
  readonly command:
    | 'generic_nack'
    | 'unbind'
    | 'unbind_resp'
    | 'enquire_link'
    | 'enquire_link_resp'
    | 'cancel_sm_resp'
    | 'replace_sm_resp'
}

/**
 * submit_sm and deliver_sm, which share one layout (4.4.1, 4.6.1). A short message over 254 octets is sent as
 * message_payload.
 */
export type ShortMessagePdu = PduHeader & {
  readonly command: 'submit_sm' | 'deliver_sm'
  readonly serviceType: string
  readonly source: Address
  readonly destination: Address
  readonly esmClass: number
  readonly protocolId: number
  readonly priority: number
  readonly schedule: string
  readonly validity: string
  readonly registered: number
  readonly replaceIfPresent: number
  readonly dataCoding: number
  readonly defaultMessageId: number
  readonly shortMessage: Buffer
  readonly tlvs: Tlvs
}

export type DataPdu = PduHeader & {
  readonly command: 'data_sm'
  readonly serviceType: string
  readonly source: Address
  readonly destination: Address
  readonly esmClass: number
  readonly registered: number
  readonly dataCoding: number
  readonly tlvs: Tlvs
}

export type MessageResponsePdu = PduHeader & {
  readonly command: 'submit_sm_resp' | 'deliver_sm_resp' | 'data_sm_resp'
  readonly messageId: string
  readonly tlvs: Tlvs
}

export type QueryPdu = PduHeader & {
  readonly command: 'query_sm'
  readonly messageId: string
  readonly source: Address
}

export type QueryResponsePdu = PduHeader & {
  readonly command: 'query_sm_resp'
  readonly messageId: string
  readonly finalDate: string
  readonly state: number
  readonly error: number
}

export type CancelPdu = PduHeader & {
  readonly command: 'cancel_sm'
  readonly serviceType: string
  readonly messageId: string
  readonly source: Address
  readonly destination: Address
}

export type ReplacePdu = PduHeader & {
  readonly command: 'replace_sm'
  readonly messageId: string
  readonly source: Address
  readonly schedule: string
  readonly validity: string
  readonly registered: number
  readonly defaultMessageId: number
  readonly shortMessage: Buffer
}

export type OutbindPdu = PduHeader & {
  readonly command: 'outbind'
  readonly systemId: string
  readonly password: string
}

export type AlertPdu = PduHeader & {
  readonly command: 'alert_notification'
  readonly source: Address
  readonly esme: Address
  readonly tlvs: Tlvs
}

export type Pdu =
  | BindPdu
  | BindResponsePdu
  | HeaderOnlyPdu
  | ShortMessagePdu
  | DataPdu
  | MessageResponsePdu
  | QueryPdu
  | QueryResponsePdu
  | CancelPdu
  | ReplacePdu
  | OutbindPdu
  | AlertPdu

/** A valid frame with an invalid body, or with an unknown command (then `command` is null). */
export type MalformedPdu = {
  readonly command: CommandName | null
  readonly sequence: number
  /** The command_status that answers it. */
  readonly fault: number
  readonly frame: Buffer
}

/** Maximum PDU length; a longer one means that the framing is lost. */
export const maxPduLength = 65_536

export const headerLength = 16

const commandNames = new Map<number, string>(Object.entries(commandIds).map(([name, id]) => [id, name]))

/** The header of a PDU (3.2), which may be logged. The body contains numbers, texts and passwords. */
export const headerOf = (frame: Buffer): { command: string; sequence: number; status: string; octets: number } => ({
  command: commandNames.get(frame.readUInt32BE(4)) ?? 'unknown',
  sequence: frame.readUInt32BE(12),
  status: statusName(frame.readUInt32BE(8)),
  octets: frame.length,
})

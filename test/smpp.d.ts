declare module 'smpp' {
  import type { EventEmitter } from 'node:events'
  import type { Server } from 'node:net'

  export type SmppUserData = { udh?: Buffer; message?: string | Buffer }
  export type SmppPdu = {
    command: string
    command_status: number
    sequence_number: number
    system_id?: string
    password?: string
    source_addr?: string
    destination_addr?: string
    data_coding?: number
    esm_class?: number
    registered_delivery?: number
    short_message?: SmppUserData
    message_id?: string
    message_payload?: SmppUserData
    message_state?: number
    receipted_message_id?: string
    system_type?: string
    interface_version?: number
    address_range?: string
    service_type?: string
    source_addr_ton?: number
    source_addr_npi?: number
    dest_addr_ton?: number
    dest_addr_npi?: number
    validity_period?: string | Date
    response(fields?: Record<string, unknown>): SmppPdu
    toBuffer(): Buffer
  }
  export type SmppSession = EventEmitter & {
    send(pdu: SmppPdu, answered?: (answer: SmppPdu) => void): boolean
    bind_transceiver(fields: Record<string, unknown>, answered: (answer: SmppPdu) => void): boolean
    submit_sm(fields: Record<string, unknown>, answered: (answer: SmppPdu) => void): boolean
    cancel_sm(fields: Record<string, unknown>, answered: (answer: SmppPdu) => void): boolean
    query_sm(fields: Record<string, unknown>, answered: (answer: SmppPdu) => void): boolean
    deliver_sm(fields: Record<string, unknown>, answered: (answer: SmppPdu) => void): boolean
    unbind(answered: (answer: SmppPdu) => void): boolean
    close(closed?: () => void): void
    destroy(): void
  }
  const smpp: {
    createServer(listener: (session: SmppSession) => void): Server
    createServer(options: { key: string; cert: string }, listener: (session: SmppSession) => void): Server
    connect(options: { host: string; port: number }, connected?: () => void): SmppSession
    PDU: new (command: string | Buffer, fields?: Record<string, unknown>) => SmppPdu
  }
  export = smpp
}

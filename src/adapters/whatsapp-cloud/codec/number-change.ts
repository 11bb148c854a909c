import { type Fields, fieldsOf, textOf } from './fields.ts'
import { numberOfId } from './numbers.ts'

/** A person's new number (Cloud API, "System messages webhook reference"), with `+`, in the forms of the network. */
export type NumberChange = { readonly kind: 'renamed'; readonly before: string; readonly number: string }

/**
 * Reads a system message about a changed number; null for any other message. Earlier versions of the network named the
 * type and the field differently. The message comes from the former number, which its text names too.
 */
export const numberChangeOf = (message: Fields): NumberChange | null => {
  const system = fieldsOf(message.system)
  if (message.type !== 'system' || !/^(?:user|customer)_changed_number$/.test(textOf(system.type) ?? '')) return null
  const number = numberOfId(textOf(system.wa_id) ?? textOf(system.new_wa_id) ?? '')
  const written = [...(textOf(system.body) ?? '').matchAll(/\d{7,15}/g)].map(([digits]) => digits)
  const before = [textOf(message.from) ?? '', ...written].map(numberOfId).find((one) => one !== null && one !== number)
  return number === null || !before ? null : { kind: 'renamed', before, number }
}

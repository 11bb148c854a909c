import { ns } from '@trunkline/xmpp/namespaces.ts'
import { child, elements, textOf, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'

/** Builds a submitted data form (XEP-0004). */
export const form = (kind: string, fields: Readonly<Record<string, string | readonly string[]>>): XmlElement =>
  xml(
    'x',
    ns.forms,
    { type: 'submit' },
    ...Object.entries({ FORM_TYPE: kind, ...fields }).map(([name, value]) =>
      xml(
        'field',
        ns.forms,
        { var: name, type: name === 'FORM_TYPE' ? 'hidden' : undefined },
        ...[value].flat().map((one) => xml('value', ns.forms, {}, one)),
      ),
    ),
  )

/** The first value of each field of the form in an element. */
export const fieldsIn = (parent: XmlElement): ReadonlyMap<string, string> => {
  const found = child(parent, 'x', ns.forms)
  return new Map(
    (found ? elements(found, 'field') : []).map((field) => [
      field.attrs.var ?? '',
      textOf(child(field, 'value', ns.forms)),
    ]),
  )
}

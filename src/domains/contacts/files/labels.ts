import { fold } from '../../../platform/lib/fold.ts'
import { maxLabelLength } from '../limits.ts'

/** Words of labels in exports, folded, by the label that is stored: English, German, French, Spanish, Portuguese. */
const words = new Map(
  Object.entries({
    mobile:
      'mobile mobil cell cellular cellphone iphone handy mobiltelefon mobilnummer mobilfunk handynummer portable movil celular telemovel',
    work: 'work business office arbeit geschaftlich geschaft dienstlich beruflich buro bureau professionnel pro travail trabajo oficina laboral trabalho escritorio comercial profissional',
    home: 'home private personal privat zuhause domicile personnel maison prive casa particular personal domicilio residencial pessoal',
    main: 'main primary haupt haupttelefon hauptnummer zentrale principal',
    other: 'other andere anderes weitere weiteres sonstige sonstiges autre otro otra outro outra',
    car: 'car autotelefon auto voiture coche carro',
    company: 'company firma firmentelefon unternehmen entreprise societe empresa',
    assistant: 'assistant assistants assistent assistentin assistente asistente',
    fax: 'fax telefax telecopie telecopieur',
    pager: 'pager beeper bipeur',
  }),
)

const labelsByWord = new Map([...words].flatMap(([label, all]) => all.split(' ').map((word) => [word, label])))

/** Returns the label of a folded word, or undefined if the word is none. */
export const labelOfWord = (word: string): string | undefined => labelsByWord.get(word)

/** Joins labels to one: `work mobile`, `home fax`. */
export const joinLabels = (labels: readonly string[]): string | null => [...new Set(labels)].join(' ') || null

/** Returns a label as it is stored: known ones in one form, those of people as they wrote them. */
export const labelOf = (text: string): string | null => {
  // Apple marks its own labels, and Google the first of several values.
  const bare = text
    .replace(/^_\$!<(.*)>!\$_$/s, '$1')
    .replace(/^\* /, '')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  const folded = fold(bare.slice(0, maxLabelLength)).split(' ')
  const known = folded.flatMap((word) => labelOfWord(word) ?? [])
  return (known.length === folded.length ? joinLabels(known) : bare.slice(0, maxLabelLength).trim()) || null
}

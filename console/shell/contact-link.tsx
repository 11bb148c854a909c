import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { paths } from '../paths.ts'
import { fullName } from '../words/format.ts'

/** The contact of a number (E.164) as a link, if the account knows one. */
export const ContactLink = ({ number }: { number: string }) => {
  const isNumber = /^\+\d{7,15}$/.test(number)
  const found = useQuery('GET /open/contacts', {
    query: { q: number, results_per_page: 5 },
    live: ['contact'],
    enabled: isNumber && may('inbox'),
  })
  const contact = found.data?.contacts.find(({ details }) => details.some(({ value }) => value === number))
  if (!contact) return null
  const name = fullName(contact)
  return (
    <a href={paths.contact({ contact: contact.uuid })} dir="auto">
      {name}
    </a>
  )
}

import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const contacts: Section = {
  name: 'contacts',
  title: () => words.sections.contacts,
  icon: 'user',
  key: 'o',
  place: 'account',
  pages: [
    page({
      path: paths.contacts,
      title: () => words.pages.contacts,
      needs: 'inbox',
      isListed: true,
      load: () => import('./contacts.tsx').then(({ ContactsPage }) => ContactsPage),
    }),
    page({
      path: paths.duplicates,
      title: () => words.pages.duplicates,
      needs: 'inbox',
      isListed: true,
      load: () => import('./duplicates.tsx').then(({ DuplicatesPage }) => DuplicatesPage),
    }),
    page({
      path: paths.importContacts,
      title: () => words.pages.importContacts,
      needs: 'inbox',
      isListed: true,
      load: () => import('./import.tsx').then(({ ImportPage }) => ImportPage),
    }),
    page({
      path: paths.optOuts,
      title: () => words.pages.optOuts,
      needs: 'inbox',
      isListed: true,
      load: () => import('./opt-outs.tsx').then(({ OptOutsPage }) => OptOutsPage),
    }),
    page({
      path: paths.contact,
      title: () => words.pages.contact,
      needs: 'inbox',
      load: () => import('./contact.tsx').then(({ ContactPage }) => ContactPage),
    }),
  ],
}

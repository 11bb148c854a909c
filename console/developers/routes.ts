import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const developers: Section = {
  name: 'developers',
  title: () => words.sections.developers,
  icon: 'code-xml',
  key: 'd',
  place: 'account',
  pages: [
    page({
      path: paths.keys,
      title: () => words.pages.keys,
      needs: 'develop',
      isListed: true,
      load: () => import('./keys.tsx').then(({ KeysPage }) => KeysPage),
    }),
  ],
}

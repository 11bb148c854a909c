import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const people: Section = {
  name: 'people',
  title: () => words.sections.people,
  icon: 'users',
  key: 'p',
  place: 'account',
  pages: [
    page({
      path: paths.people,
      title: () => words.pages.people,
      needs: 'people',
      isListed: true,
      load: () => import('./people.tsx').then(({ PeoplePage }) => PeoplePage),
    }),
  ],
}

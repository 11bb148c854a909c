import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const channels: Section = {
  name: 'channels',
  title: () => words.sections.channels,
  icon: 'smartphone',
  key: 'h',
  place: 'account',
  pages: [
    page({
      path: paths.channels,
      title: () => words.pages.channels,
      needs: 'read_only',
      isListed: true,
      load: () => import('./channels.tsx').then(({ ChannelsPage }) => ChannelsPage),
    }),
    page({
      path: paths.channel,
      title: () => words.pages.channel,
      needs: 'read_only',
      load: () => import('./channel.tsx').then(({ ChannelPage }) => ChannelPage),
    }),
  ],
}

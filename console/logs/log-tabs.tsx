import { may } from '../api/session.ts'
import { Tabs } from '../parts/tabs.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/logs.ts'

/** The kinds of logs that the person may read. */
export const LogTabs = ({ current }: { current: 'messages' | 'calls' }) => (
  <Tabs
    label={words.tabs}
    tabs={[
      ...(may('inbox') ? [{ text: words.messages.title, href: paths.logs(), current: current === 'messages' }] : []),
      { text: words.calls.title, href: paths.logCalls(), current: current === 'calls' },
    ]}
  />
)

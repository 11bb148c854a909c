import { may } from '../api/session.ts'
import { Tabs } from '../parts/tabs.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/money.ts'

/** The pages of money that the person may read. */
export const MoneyTabs = ({ current }: { current: 'ledger' | 'holds' | 'usage' }) => (
  <Tabs
    label={words.tabs}
    tabs={[
      ...(may('money')
        ? [
            { text: words.ledgerTab, href: paths.money(), current: current === 'ledger' },
            { text: words.holdsTab, href: paths.holds(), current: current === 'holds' },
          ]
        : []),
      { text: words.usageTab, href: paths.usage(), current: current === 'usage' },
    ]}
  />
)

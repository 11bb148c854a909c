import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Empty, Skeleton } from '../parts/page-states.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { fullName, list, phoneNumber } from '../words/format.ts'
import { MergeForm } from './merge.tsx'

type Group = ReplyOf<'GET /open/contacts/duplicates'>['duplicates'][number]

const kinds = ['number', 'email', 'name'] as const

const keyText = ({ by, key }: Group): string => (by === 'number' ? phoneNumber(key) : key)

/** Contacts of a group that a row names. */
const mostNamed = 4

const namesOf = ({ contacts, count }: Group): string => {
  const named = contacts.slice(0, mostNamed).map(fullName)
  const rest = count - named.length
  return list(rest > 0 ? [...named, words.duplicates.more(rest)] : named)
}

/** Contacts that may be one person. Kind and opened comparison are in the address. */
export const DuplicatesPage = ({ search }: PageOf<typeof paths.duplicates>) => {
  const { route: go } = useLocation()
  const by = kinds.find((kind) => kind === search.by) ?? 'number'
  const found = useList('GET /open/contacts/duplicates', { query: { by }, live: ['contact'] })
  const { rows, hasMore, isLoadingMore, more } = found
  const isEmptySoFar = rows !== undefined && rows.length === 0 && hasMore
  // A page of a large address book may have no duplicates.
  useEffect(() => {
    if (isEmptySoFar && !isLoadingMore) more()
  }, [isEmptySoFar, isLoadingMore, more])
  const here = (merge?: string) => paths.duplicates({}, { by: search.by, merge })
  const opened = rows?.find(({ key }) => key === search.merge)
  const columns = [
    {
      key: 'key',
      title: words.duplicates.common,
      cell: (group: Group) => (
        <bdi class={by === 'number' ? 'tabular' : ''} dir={by === 'number' ? 'ltr' : 'auto'}>
          {keyText(group)}
        </bdi>
      ),
    },
    { key: 'contacts', title: words.duplicates.contacts, cell: (group: Group) => <bdi>{namesOf(group)}</bdi> },
  ]
  return (
    <Page title={words.duplicates.title} lead={words.duplicates.about}>
      <Tabs
        label={words.duplicates.title}
        tabs={kinds.map((kind) => ({
          text: words.duplicates.tabs[kind],
          href: paths.duplicates({}, { by: kind === 'number' ? undefined : kind }),
          current: kind === by,
        }))}
      />
      {isEmptySoFar ? (
        <>
          <p class="soft" role="status">
            {words.duplicates.searching}
          </p>
          <Skeleton rows={3} shape="table" />
        </>
      ) : (
        <ListTable
          of={found}
          label={words.duplicates.caption[by]}
          columns={columns}
          rowKey={({ key }) => key}
          rowHref={({ key }) => here(key)}
          empty={
            <Empty icon="users" title={words.duplicates.empty[by]}>
              {words.duplicates.emptyHint}
            </Empty>
          }
        />
      )}
      <Dialog
        open={opened !== undefined}
        title={words.merge.title(opened?.contacts.length ?? 0)}
        size="wide"
        onClose={() => go(here(), true)}
      >
        {opened && <MergeForm contacts={opened.contacts} onClose={() => go(here(), true)} />}
      </Dialog>
    </Page>
  )
}

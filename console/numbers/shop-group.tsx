import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useQuery } from '../api/query.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { RadioField } from '../parts/choice-fields.tsx'
import { Filters } from '../parts/filters.tsx'
import { Card, KeyValue, Section } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { Checkout, type TakenNumber } from './checkout.tsx'
import { type Reservation, useHeld } from './held-numbers.tsx'
import { RequirementText } from './number-documents.tsx'
import type { Group } from './number-state.tsx'
import { abilitiesOf } from './shop-places.tsx'

type Search = PageOf<typeof paths.shop>['search']

const firstShown = 12
const mostShown = 200

type PickProps = {
  readonly group: Group
  readonly search: Search
  readonly held: readonly Reservation[]
  readonly onPick: (number: string) => void
}

/** Free numbers of a group, found by digits or by letters of a keypad. */
const PickNumber = ({ group, search, held, onPick }: PickProps) => {
  const { route: go } = useLocation()
  const [shown, setShown] = useState(firstShown)
  const { data, error, isLoading, refresh } = useQuery('GET /open/numbers/available', {
    query: { group_id: group.id, contains: search.contains?.trim() || undefined, results_per_page: shown },
    live: ['number'],
  })
  const free = data?.data.numbers.map(({ number }) => number) ?? []
  // A held number is not free, and the chosen one may not match the search.
  const own = held.filter(({ did_group_id }) => did_group_id === group.id).map(({ number }) => number)
  const numbers = [...new Set([...own, ...(search.number ? [search.number] : []), ...free])]
  const isHeld = (number: string) => own.includes(number)
  return (
    <Section title={words.group.pick} lead={words.group.others(group.available_count)}>
      <Filters
        filters={[{ kind: 'search', name: 'contains', label: words.group.contains }]}
        values={{ contains: search.contains }}
        onChange={({ contains }) =>
          go(
            paths.shop({ country: group.iso_country_code, group: group.id }, { contains, number: search.number }),
            true,
          )
        }
      />
      <p class="soft">{words.group.containsHint}</p>
      {!data && error ? (
        <ErrorState refusal={error} onRetry={refresh} />
      ) : !data && isLoading ? (
        <Skeleton rows={4} />
      ) : (
        <div class="pick">
          {numbers.length > 0 && (
            <RadioField
              name="number"
              label={words.group.numbers}
              hideLabel
              look="cards"
              value={search.number ?? ''}
              onChange={onPick}
              options={numbers.map((number) => ({
                value: number,
                text: format.phoneNumber(number),
                ...(isHeld(number) ? { hint: words.group.held } : {}),
              }))}
            />
          )}
          {free.length === 0 && (
            <Empty icon="search" title={search.contains ? words.group.noneFound : words.group.noneFree} />
          )}
          {shown < mostShown && data && data.total > free.length && (
            <div class="list-more">
              <Button busy={isLoading} onClick={() => setShown(mostShown)}>
                {words.group.more}
              </Button>
            </div>
          )}
        </div>
      )}
    </Section>
  )
}

const GroupFacts = ({ group }: { group: Group }) => {
  const { price, requirements } = group
  return (
    <Card title={words.group.facts}>
      <KeyValue
        facts={[
          { name: words.type, value: words.types[group.type] },
          { name: words.shop.can, value: abilitiesOf(group).join(', ') },
          { name: words.shop.month, value: <Money amount={price.monthly_price} exact /> },
          { name: words.shop.setup, value: <Money amount={price.setup_price} exact /> },
          { name: words.shop.minute, value: <Money amount={price.ppm} exact /> },
          {
            name: words.group.requires,
            value:
              requirements.length === 0 ? (
                words.group.requiresNothing
              ) : (
                <div class="stack stack-close">
                  <ul class="requirements">
                    {requirements.map((one) => (
                      <li key={one.id}>
                        <RequirementText of={one} />
                      </li>
                    ))}
                  </ul>
                  <p class="soft">{words.group.requiresLater}</p>
                </div>
              ),
          },
        ]}
      />
    </Card>
  )
}

const TakenBanner = ({ taken, country }: { taken: TakenNumber; country: string }) =>
  taken.number === undefined ? (
    <Banner
      tone="bad"
      live
      title={words.checkout.soldOut}
      actions={<ButtonLink href={paths.shop({ country })}>{words.shop.otherPlaces}</ButtonLink>}
    >
      {words.checkout.soldOutHint}
    </Banner>
  ) : (
    <Banner tone="bad" live title={words.checkout.taken(format.phoneNumber(taken.number))}>
      {words.checkout.takenHint}
    </Banner>
  )

/** The last step of the shop: a number of a group, held or bought. */
export const ShopGroup = ({ country, group: id, search }: { country: string; group: string; search: Search }) => {
  const { route: go } = useLocation()
  const [taken, setTaken] = useState<TakenNumber>()
  const { held } = useHeld()
  const { data, error, refresh } = useQuery('GET /open/numbers/groups', {
    query: { country, group_id: id },
    live: ['number'],
  })
  if (!data) return error ? <ErrorState refusal={error} onRetry={refresh} /> : <Skeleton rows={6} />
  const group = data.data.groups[0]
  if (!group)
    return (
      <Empty
        icon="search"
        title={words.shop.unknownGroup}
        act={<ButtonLink href={paths.shop({ country })}>{words.shop.otherPlaces}</ButtonLink>}
      />
    )
  const pick = (number: string | undefined) =>
    go(paths.shop({ country, group: id }, { contains: search.contains, number }), true)
  return (
    <>
      <h2 class="shop-place">
        {group.location} <span class="soft">{words.shop.area(group.prefix)}</span>
      </h2>
      {taken && <TakenBanner taken={taken} country={country} />}
      <div class="shop-group">
        <div class="stack stack-wide">
          <GroupFacts group={group} />
          {group.allow_number_selection ? (
            <PickNumber
              group={group}
              search={search}
              held={held}
              onPick={(number) => {
                setTaken(undefined)
                pick(number)
              }}
            />
          ) : (
            <Section title={words.group.any}>
              <p>{words.group.anyHint}</p>
            </Section>
          )}
        </div>
        <Checkout
          group={group}
          number={search.number}
          isHeld={held.some(({ number }) => number === search.number)}
          onTaken={(next) => {
            setTaken(next)
            pick(undefined)
          }}
        />
      </div>
    </>
  )
}

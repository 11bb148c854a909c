import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { Popup } from '../shell/popup.tsx'
import { words } from '../words/en/inbox.ts'
import { countText, houseViewsFor, viewName } from './house-views.ts'
import type { Place } from './inbox-place.ts'
import type { SavedView } from './inbox-types.ts'
import { counts } from './live-counts.ts'
import { ownUser, savedViews } from './team-members.ts'

const ViewLink = ({ view, place, name }: { view: string; place: Place; name: string }) => (
  <a class="popup-item view-link" href={paths.inbox({ view })} aria-current={view === place.view ? 'true' : undefined}>
    <span class="cut" dir="auto">
      {name}
    </span>
    <span class="view-count tabular">{countText(view, counts.value)}</span>
  </a>
)

const SavedLinks = ({ title, views, place }: { title: string; views: readonly SavedView[]; place: Place }) =>
  views.length === 0 ? null : (
    <>
      <p class="popup-title">{title}</p>
      {views.map(({ uuid, name }) => (
        <ViewLink key={uuid} view={uuid} place={place} name={name} />
      ))}
    </>
  )

/** The name of the view with its count: a button that shows the others. */
export const ViewSwitch = ({ place }: { place: Place }) => {
  const saved = savedViews.value ?? []
  const count = countText(place.view, counts.value)
  return (
    <span data-act="views" class={classes('view-switch')}>
      <Popup
        id="inbox-views"
        class="view-button"
        label={words.views.choose}
        button={
          <>
            <span class="cut" dir="auto">
              {viewName(place.view, saved)}
            </span>
            {count && <span class="view-count tabular">{count}</span>}
            <Icon name="chevron-down" />
          </>
        }
      >
        {houseViewsFor(ownUser.value !== '').map(({ slug }) => (
          <ViewLink key={slug} view={slug} place={place} name={words.views[slug]} />
        ))}
        <SavedLinks title={words.views.shared} views={saved.filter(({ shared }) => shared)} place={place} />
        <SavedLinks title={words.views.own} views={saved.filter(({ shared }) => !shared)} place={place} />
        <a class="popup-item view-manage" href={paths.inboxViews()}>
          <Icon name="settings" /> {words.views.manage}
        </a>
      </Popup>
    </span>
  )
}

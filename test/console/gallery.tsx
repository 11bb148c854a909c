import { render } from 'preact'
import { Page } from '../../console/parts/page.tsx'
import { ToastHost } from '../../console/parts/toast.tsx'
import { pseudo } from '../../console/words/pseudo.ts'
import { chooseLanguage, direction } from '../../console/words/section.ts'
import { Controls, Fields, Overlays } from './gallery-controls.tsx'
import { Data, States } from './gallery-data.tsx'
import { Finding, Rich } from './gallery-rich.tsx'

// Every part in every state. Texts of the gallery are examples, so they are not in the catalogue.

const search = new URLSearchParams(location.search)
const language = search.get('dir') === 'rtl' ? 'ar' : 'en'
chooseLanguage(language, {}, search.has('pseudo') ? pseudo : undefined)
document.documentElement.lang = language
document.documentElement.dir = direction()
const theme = search.get('theme')
if (theme) document.documentElement.dataset.theme = theme
const density = search.get('density')
if (density) document.documentElement.dataset.density = density

const Gallery = () => (
  <>
    <Page
      title="Parts"
      place="Trunkline"
      lead="Every part of the console in every state."
      crumbs={[{ text: 'Console', href: '#console' }]}
    >
      <Controls />
      <Fields />
      <Overlays />
      <States />
      <Data />
      <Finding />
      <Rich />
    </Page>
    <ToastHost />
  </>
)

const app = document.getElementById('app')
if (app) render(<Gallery />, app)

// Parts that most pages use, and the inbox does not: they are one file, which loads with the first of those pages. Parts
// that few pages use, such as charts, are left to the files of those pages.

import './parts/banner.tsx'
import './parts/choice-fields.tsx'
import './parts/code-block.tsx'
import './parts/dialog.tsx'
import './parts/filters.tsx'
import './parts/form.tsx'
import './parts/status.tsx'
import './parts/table.tsx'
import './parts/text-fields.tsx'
import './parts/timeline.tsx'
import './shell/days.ts'
import './shell/export-button.tsx'
import './shell/list-table.tsx'
import './words/decimal.ts'

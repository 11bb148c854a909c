// Parts that the inbox and most other pages use: they are in the file of the entry.

import './parts/menu.tsx'
import './parts/page.tsx'
import './parts/page-states.tsx'
import './parts/values.tsx'
import './api/files.ts'
import './api/query.ts'

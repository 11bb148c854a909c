import { section } from '../section.ts'

/** Texts of clips: sounds that programs play in calls. */
export const words = section('clips', {
  title: 'Clips',
  about: 'Sounds for your programs: the verb “play” takes the ID of a clip.',
  upload: 'Upload clip',
  uploaded: 'Clip uploaded',
  file: 'File',
  fileHint: 'WAV or MP3, up to 20 MiB. Calls hear it in the quality of a telephone.',
  name: 'Name',
  nameHint: 'For people, such as “Welcome”.',
  listen: 'Listen',
  listenTo: (name: string) => `Listen to ${name}`,
  length: 'Length',
  id: 'ID',
  empty: 'No clips yet',
  emptyHint: 'Upload a greeting or music on hold, and hear it here.',
  remove: 'Delete clip',
  removeTitle: (name: string) => `Delete “${name}”?`,
  removeWhy: 'Programs that play it go on without the sound. This cannot be undone.',
})

import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { bytes } from '../words/format.ts'
import type { Item } from './inbox-types.ts'

type File = NonNullable<NonNullable<Item['message']>['message']['media']>

const FileLink = ({ file, url }: { file: File; url: string }) => (
  <a class="media-file" href={url} target="_blank" rel="noreferrer" download={file.name ?? ''}>
    <Icon name={file.type === 'image' ? 'image' : 'file'} />
    <span class="cut" dir="auto">
      {file.name ?? file.mime_type}
    </span>
    {file.size !== undefined && <span class="soft tabular">{bytes(file.size)}</span>}
  </a>
)

/** A file of a message: pictures, sound and film play here, other files are links. */
export const Media = ({ media }: { media: File }) => {
  const [isBroken, setBroken] = useState(false)
  const name = media.name ?? texts.item.image
  if (!media.url)
    return (
      <p class="media-none">
        <Icon name="file" /> {media.error ?? texts.item.noMedia}
      </p>
    )
  if (isBroken || media.type === 'document') return <FileLink file={media} url={media.url} />
  const onError = () => setBroken(true)
  if (media.type === 'image')
    return (
      <a class="media-image" href={media.url} target="_blank" rel="noreferrer" aria-label={texts.item.openMedia(name)}>
        <img src={media.url} alt={name} loading="lazy" decoding="async" onError={onError} />
      </a>
    )
  if (media.type === 'audio')
    // biome-ignore lint/a11y/useMediaCaption: people send sound without captions.
    return <audio class="media-audio" controls preload="none" src={media.url} aria-label={name} onError={onError} />
  // biome-ignore lint/a11y/useMediaCaption: people send films without captions.
  return <video class="media-video" controls preload="metadata" src={media.url} aria-label={name} onError={onError} />
}

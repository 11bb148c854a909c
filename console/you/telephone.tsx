import { useEffect, useRef, useState } from 'preact/hooks'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxField, SelectField } from '../parts/choice-fields.tsx'
import { Section } from '../parts/page.tsx'
import { audio, audioContext, chooseAudio, playTones } from '../shell/audio.ts'
import { phoneBarrier } from '../shell/phone.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/phone.ts'

type Kind = 'audioinput' | 'audiooutput'

/** Devices of the browser, and whether it shows their names. */
const useDevices = () => {
  const [devices, setDevices] = useState<readonly MediaDeviceInfo[]>([])
  const list = () => void navigator.mediaDevices?.enumerateDevices().then(setDevices)
  useEffect(() => {
    list()
    navigator.mediaDevices?.addEventListener('devicechange', list)
    return () => navigator.mediaDevices?.removeEventListener('devicechange', list)
  }, [])
  const optionsOf = (kind: Kind, name: string) =>
    devices
      .filter((device) => device.kind === kind && device.deviceId !== '')
      .map(({ deviceId, label }, index) => ({
        value: deviceId,
        text: label || words.settings.unnamed(name, index + 1),
      }))
  const isNamed = devices.some(({ kind, label }) => kind === 'audioinput' && label !== '')
  return { optionsOf, isNamed, list }
}

const levelOf = (samples: Float32Array): number => {
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length
  // Speech has about -50 to -10 dB.
  return Math.max(0, Math.min(1, (10 * Math.log10(power + 1e-10) + 60) / 50))
}

/** Opens the microphone of the choice while it is on. @returns its level, 0 to 1, and the fault in words */
const useMicrophone = (isOn: boolean, isEcho: boolean, onOpen: () => void) => {
  const [level, setLevel] = useState(0)
  const [fault, setFault] = useState('')
  const { microphone } = audio.value
  useEffect(() => {
    if (!isOn) return setLevel(0)
    let isOver = false
    let end = () => {}
    const open = async () => {
      const constraint = microphone ? { deviceId: { exact: microphone } } : true
      const stream = await navigator.mediaDevices.getUserMedia({ audio: constraint })
      const stop = () => {
        for (const track of stream.getTracks()) track.stop()
      }
      if (isOver) return stop()
      onOpen()
      const context = await audioContext()
      const source = context.createMediaStreamSource(stream)
      const analyser = new AnalyserNode(context, { fftSize: 1_024 })
      source.connect(analyser)
      if (isEcho) source.connect(context.destination)
      const samples = new Float32Array(analyser.fftSize)
      const timer = setInterval(() => {
        analyser.getFloatTimeDomainData(samples)
        setLevel(levelOf(samples))
      }, 80)
      end = () => {
        clearInterval(timer)
        source.disconnect()
        stop()
      }
      if (isOver) end()
    }
    setFault('')
    open().catch((error: unknown) => {
      const isDenied = error instanceof Error && error.name === 'NotAllowedError'
      setFault(isDenied ? words.problems.denied : words.problems.noMicrophone)
    })
    return () => {
      isOver = true
      end()
    }
  }, [isOn, isEcho, microphone])
  return { level, fault }
}

/** The bar of the level. */
const Level = ({ level }: { level: number }) => {
  const heard = useRef(0)
  heard.current = Math.max(heard.current, level)
  return (
    <div class="stack stack-close">
      <meter class="phone-level" min={0} max={1} value={level} aria-label={words.settings.level} />
      <p class="soft">{heard.current > 0.2 ? words.settings.speak : words.settings.silent}</p>
    </div>
  )
}

const play = async (hertz: readonly number[], bursts: readonly (readonly [number, number])[]) => {
  playTones(await audioContext(), hertz, bursts)
}

/** Devices and sounds of the telephone in this browser, with tests of both. */
export const TelephonePage = () => {
  const [isOn, setOn] = useState(false)
  const [isEcho, setEcho] = useState(false)
  const { optionsOf, isNamed, list } = useDevices()
  const { level, fault } = useMicrophone(isOn, isEcho, list)
  const { microphone, speaker, rings } = audio.value
  const barrier = phoneBarrier()
  const choice = { value: '', text: words.settings.browserChoice }
  const microphones = optionsOf('audioinput', words.settings.microphone)
  const speakers = optionsOf('audiooutput', words.settings.speaker)
  return (
    <Page title={words.settings.title} lead={words.settings.lead} width="narrow">
      {barrier !== null && <Banner tone="info">{words.barriers[barrier]}</Banner>}
      {fault && (
        <Banner tone="bad" live>
          {fault}
        </Banner>
      )}
      <Section title={words.settings.devices} lead={words.settings.saved}>
        <div class="stack">
          <SelectField
            name="microphone"
            label={words.settings.microphone}
            hint={isNamed ? undefined : words.settings.allowHint}
            value={microphone}
            onChange={(id) => chooseAudio({ microphone: id })}
            options={[choice, ...microphones]}
          />
          <div class="row">
            <Button icon="mic" pressed={isOn} onClick={() => setOn(!isOn)}>
              {isOn ? words.settings.stop : words.settings.listen}
            </Button>
          </div>
          {isOn && !fault && (
            <>
              <Level level={level} />
              <CheckboxField
                name="echo"
                label={words.settings.echo}
                hint={words.settings.echoHint}
                checked={isEcho}
                onChange={setEcho}
              />
            </>
          )}
          <SelectField
            name="speaker"
            label={words.settings.speaker}
            hint={speakers.length === 0 ? words.settings.noSpeakers : undefined}
            value={speaker}
            onChange={(id) => chooseAudio({ speaker: id })}
            options={[choice, ...speakers]}
          />
          <div class="row">
            <Button icon="volume-2" onClick={() => void play([440], [[0, 1]])}>
              {words.settings.tone}
            </Button>
          </div>
        </div>
      </Section>
      <Section title={words.settings.sound}>
        <div class="stack">
          <CheckboxField
            name="rings"
            label={words.settings.rings}
            checked={rings}
            onChange={(next) => chooseAudio({ rings: next })}
          />
          <div class="row">
            <Button
              icon="bell"
              onClick={() =>
                void play(
                  [400, 450],
                  [
                    [0, 0.4],
                    [0.6, 0.4],
                  ],
                )
              }
            >
              {words.settings.playRing}
            </Button>
          </div>
        </div>
      </Section>
    </Page>
  )
}

import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useState } from 'react'
import { ProblemAlert } from './problem-alert.tsx'
import { useProven } from './proven.ts'

interface Options {
  title: string
  /** What will happen, in a sentence or two. */
  children: ReactNode
  action: string
  /** Resolves when it is done. */
  work: () => Promise<void>
  /** The button that opens the question. */
  trigger: (open: () => void) => ReactNode
}

/** Asks before what cannot be undone. */
export function Confirm({ title, children, action, work, trigger }: Options) {
  const [opened, { open, close }] = useDisclosure(false)
  const [busy, setBusy] = useState(false)
  const [fault, setFault] = useState<unknown>(null)
  const proven = useProven()

  async function go(): Promise<void> {
    setBusy(true)
    setFault(null)
    try {
      await proven(work)
      close()
    } catch (error) {
      setFault(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <>
      {trigger(open)}
      <Modal opened={opened} onClose={close} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
        <Stack>
          <Text size="sm">{children}</Text>
          <ProblemAlert error={fault} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Cancel
            </Button>
            <Button color="red" loading={busy} onClick={() => void go()}>
              {action}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}

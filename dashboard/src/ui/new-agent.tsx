import { Button, Modal } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api.ts'
import { AgentForm, type AgentValues } from './agent-form.tsx'
import { NewKey } from './new-key.tsx'

const EMPTY: AgentValues = { name: '', kind: 'agent', monitorIds: [], scopes: ['heartbeats:write'] }

/** Makes an agent or a service and shows its key once. */
export function NewAgent() {
  const [opened, { open, close }] = useDisclosure(false)
  const [made, setMade] = useState<Answer<'POST /v1/agents'> | null>(null)
  const queries = useQueryClient()
  const shut = () => {
    close()
    setMade(null)
  }
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
        New Agent
      </Button>
      <Modal
        opened={opened}
        onClose={shut}
        title={made === null ? 'New agent' : 'API key'}
        size="lg"
        closeOnClickOutside={made === null}
        closeOnEscape={made === null}
        withCloseButton={made === null}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {made === null ? (
          <AgentForm
            initial={EMPTY}
            action="Create"
            work={async (body) => {
              setMade(await call('POST /v1/agents', { body }))
              await queries.invalidateQueries({ queryKey: ['agents'] })
            }}
            onCancel={shut}
          />
        ) : (
          <NewKey made={made} onSaved={shut} />
        )}
      </Modal>
    </>
  )
}

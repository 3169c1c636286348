"""Operations and serializers of deployment and storage records."""
